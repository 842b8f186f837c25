"""What programs say about their own windows: AT-SPI over D-Bus on Linux."""
