"""Read what programs report about their own windows: AT-SPI over D-Bus on Linux."""
