"""What a client of the Model Context Protocol has to know about servers before it believes them."""
