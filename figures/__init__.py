"""One file for each picture, beside the PNG that it makes."""
