"""Seeing the model calls of any program: a relay on the loopback interface between the program and its providers.

The program is pointed at the relay by variables and options that it knows. The relay passes every byte on, in both
directions, and reports each request and its reply to an observer.

    routes       where requests are sent on to: one route for each provider or URL of the user's
    adapters     what each program needs so that it calls the relay: variables, options
    listener     the listening socket: bound before the program starts; the first connection starts the relay
    relay        accepts connections of the program
    relay_loop   the event loop of a server in a thread
    connect_proxy     another server: counts connections to providers that go around the relay
    model_hosts  the hosts at which vendors answer model calls
    program_connection   a request in, the same request out
    upstream_connection  its reply back
    http_message heads and bodies of HTTP/1.1 messages, as the bytes that they are
    upstream     connecting to a provider: TLS, HTTP proxies
    exchange     what the relay reports: one request and its reply
    exchange_report  reporting it to an observer that may fail
    wire_calls   which requests are observed, and as what
    wire_call    an HTTP exchange read as a model call
    responses_socket  the same for Responses over a WebSocket
    wire_facts   what is known of a call, however it is transported
    wire_endpoints    what a request is for: a call, something else that may cost, or neither
    content_coding    bodies without gzip, brotli and the like
    callers      the agent that made a call

Only `routes`, `adapters` and `listener` are loaded for a program that calls no model.

Invariant: the program gets what it would get without the relay. Whatever fails in here, bytes are passed on.
"""
