"""Commands for keys and signatures."""
