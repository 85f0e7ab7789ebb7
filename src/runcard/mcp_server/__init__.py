"""`runcard mcp`: records and plans for agents, by the Model Context Protocol.

A door like `cli`: it calls operations and shapes their results. Both transports share everything but the transport.

    server      puts tools, resources and prompts together, and calls them
    stdio       the transport over standard input and output; `http` that over streamable HTTP
    tools       what a tool is; `tool_calls` runs one: in a thread, with progress, until it is cancelled
    records, transcripts, checks, reports, plans, plan_writes, recording, sessions
                the tools, by subject
    resources, prompts
                what else a client can list and read
    paging      answers of a bounded size; `quoting` marks what a record says; `readable_stores` confines the server

Invariants: nothing but the protocol is written to standard output; no answer is larger than `paging.MOST_BYTES` and none is
cut silently; no record outside of the readable stores is read; nothing is written unless the user allows it.
"""
