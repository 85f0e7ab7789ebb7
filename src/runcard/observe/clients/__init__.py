"""Watching the clients of vendors' libraries: what each call of a model asked, took and used.

A client is watched where every call of it passes, whatever method the user calls (a helper, a beta, a raw response, a stream):
at the one method that sends a request and at the HTTP response that comes back. Its class is exchanged for a subclass of its
own, so it stays what it was to everybody who looks, and so do its copies. No vendor's package is imported: a client is
known by the names of its classes.

    kinds       which clients can be watched, and how each is
    apis        which requests are calls of a model, and what of them is the prompt
    call        one call, from its beginning to its end
    wire        the bytes of a reply, as events
    words       the words of a reply, for those who keep them
    exchange    another class for an object
    http        the HTTP client below a library's own
    stainless   the clients of `anthropic` and `openai`
    google      the client of `google-genai`
    interactions  what it calls by other means

What was seen goes to whom the watcher names; nothing here knows of runs. Invariant: what a client returns, raises and
yields, and when, is what it would have without being watched.
"""
