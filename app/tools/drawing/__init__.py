"""Tools for pictures: drawn by the model as shapes (SVG), or generated from words."""
