"""Serving HTTP to people and programs that may: an open port, the names of the server, its token, its end.

Used by the page (`web`) and by the MCP server (`mcp_server`). Nothing here knows what is served.
"""
