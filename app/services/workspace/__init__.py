"""Files: where they may be, reading, writing without tearing, editing by blocks, listing, searching."""
