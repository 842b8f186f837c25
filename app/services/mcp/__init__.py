"""Tool servers of other vendors (Model Context Protocol): find them, remember what was agreed, and use them."""
