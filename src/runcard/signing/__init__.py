"""Signatures: envelopes, keys, and the file that says whose keys are trusted. No records and no stores.

An envelope is a DSSE envelope. Its signature is either a plain Ed25519 signature, or an SSH signature (SSHSIG) of the
namespace `runcard`, so that `openssl` or `ssh-keygen` alone can check it.

`cryptography` is imported where a signature is made or checked, and not before: it belongs to the extra `sign`.
"""
