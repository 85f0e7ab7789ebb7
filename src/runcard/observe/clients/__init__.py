"""Watching the clients of vendors' libraries: what each model call asked, how long it took and what it used.

A client is watched at the one method that every request passes, whatever method the user calls (a helper, a beta, a raw
response, a stream), and at the HTTP response that comes back. The client's class is replaced by a subclass of itself, so
`isinstance` and copies work as before. No vendor's package is imported: a client is recognized by the names of its classes.

    supported_clients    which clients can be watched
    anthropic_openai     the clients of `anthropic` and `openai`: their model calls, and how they are watched
    google               the client of `google-genai`
    google_interactions  its Interactions API, which takes another way
    endpoints            which requests are model calls, and what of them is the prompt; the provider behind a host
    request_parameters   temperature, limits, tools: what a request asks for besides its prompt
    call                 one model call, from start to end
    reply_reader         a reply as its bytes arrive: for watched clients, and for the meter
    reply_stream         the bytes of a reply as events
    plain_deltas         events that are only text, and need not be decoded
    long_text            a JSON text of any size in little memory
    reply_text           the text of a reply, for those who keep it
    http_client          the HTTP client below a vendor's client
    subclassing          replacing the class of an object

What was observed goes to a listener; nothing here knows about runs. Invariant: what a client returns, raises and yields,
and when, is the same as without being watched.
"""
