"""How records live on disk, and stay true."""
