#!/bin/sh
# Check the signatures of a run without runcard: sh check_signature.sh RUN [SIGNERS]
#
# With openssl, ssh-keygen and the usual tools of a shell alone. SIGNERS is a file of the form of OpenSSH's allowed_signers:
# with it, each key must be in the file. The steps:
#   1. each line of metadata.json.sig is an envelope: the signature is over its type and its payload;
#   2. the payload names the digest of metadata.json, and of SHA256SUMS;
#   3. SHA256SUMS names the digest of every other file.
# Not compared is what the statement repeats: the digests of single files, and the ends of the chains. ssh-keygen accepts more than
# runcard does: RSA keys from 1,024 bits, and hardware keys that were not touched. A run that was amended since cannot be checked like this: `runcard verify` can, and verify_run.mjs.
set -eu

run=$1
signers=${2:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "Error: $1" >&2
    exit 1
}

# The text of a field of a JSON object on one line, as runcard writes it: without spaces, and without escapes in these fields.
field() { # NAME FILE
    sed -n "s/.*\"$1\":\"\\([^\"]*\\)\".*/\\1/p" "$2"
}

# The digest that the statement names for a file.
subject() { # NAME
    grep -o "{\"name\":\"$1\",\"digest\":{\"sha256\":\"[0-9a-f]*\"}}" "$work/payload" | sed 's/.*:"\([0-9a-f]*\)".*/\1/'
}

digest() { # FILE
    openssl dgst -sha256 -r "$1" | cut -d ' ' -f 1
}

# What is signed: DSSEv1, the length of the type, the type, the length of the payload, the payload.
signed_bytes() {
    type=$(field payloadType "$work/envelope")
    [ "$type" = application/vnd.in-toto+json ] || fail "what was signed is of another type"
    field payload "$work/envelope" | openssl base64 -d -A > "$work/payload"
    printf 'DSSEv1 %d %s %d ' "${#type}" "$type" "$(wc -c < "$work/payload")" > "$work/data"
    cat "$work/payload" >> "$work/data"
    grep -q '^{"_type":"https://in-toto.io/Statement/v1",' "$work/payload" || fail "what was signed is not an in-toto statement"
    grep -qF "$about" "$work/payload" || fail "the statement is not about this run"
}

# Whether the file of signers has a key, TYPE BASE64. Its options are for ssh-keygen: of them only the namespace is read here.
check_signer() {
    [ -n "$signers" ] || return 0
    grep -v '^#' "$signers" | grep -F "$(cut -d ' ' -f 1,2 "$work/key")" > "$work/lines" || fail "the key is not in $signers"
    if sed 's/namespaces="runcard"//' "$work/lines" | grep -qE 'namespaces=|valid-(after|before)='; then fail "$signers limits the key: use \`runcard verify\`"; fi
}

# A plain signature of Ed25519: openssl wants the key in its own form, which is a fixed beginning and the 32 bytes.
check_plain() {
    field public_key "$work/payload" > "$work/key"
    {
        printf '\060\052\060\005\006\003\053\145\160\003\041\000'
        cut -d ' ' -f 2 "$work/key" | openssl base64 -d -A | tail -c 32
    } > "$work/key.der"
    openssl pkeyutl -verify -pubin -keyform DER -inkey "$work/key.der" -rawin -in "$work/data" -sigfile "$work/signature" \
        > "$work/said" 2>&1 || fail "the signature is wrong"
    check_signer
}

# An SSH signature: ssh-keygen wants it as text. With a file of signers it also says whose key it is, and whether it is valid.
check_ssh() {
    {
        echo '-----BEGIN SSH SIGNATURE-----'
        openssl base64 -in "$work/signature"
        echo '-----END SSH SIGNATURE-----'
    } > "$work/signature.ssh"
    ssh-keygen -Y check-novalidate -n runcard -s "$work/signature.ssh" < "$work/data" > "$work/said" 2>&1 ||
        fail "the signature is wrong: $(head -n 1 "$work/said")"
    if [ -n "$signers" ]; then
        who=$(ssh-keygen -Y find-principals -f "$signers" -s "$work/signature.ssh" < /dev/null 2> /dev/null | head -n 1 | cut -d , -f 1) ||
            fail "the key is not in $signers"
        ssh-keygen -Y verify -f "$signers" -I "$who" -n runcard -s "$work/signature.ssh" < "$work/data" > "$work/said" 2>&1 ||
            fail "$signers does not allow this signature"
    fi
}

base64='[A-Za-z0-9+/]*=*'
layout="^\\{\"payloadType\":\"[a-z0-9./+-]*\",\"payload\":\"$base64\",\"signatures\":\\[\\{\"keyid\":\"[A-Za-z0-9+/:]*\",\"sig\":\"$base64\"\\}\\]\\}\$"
id=$(sed -n 's/^ *"run_id": "\([A-Za-z0-9._-]*\)",*$/\1/p' "$run/metadata.json" | head -n 1)
about="\"predicateType\":\"urn:runcard:predicate:record:1\",\"predicate\":{\"kind\":\"run\",\"id\":\"$id\","

[ -s "$run/metadata.json.sig" ] || fail "the run is not signed"
[ ! -e "$run/amendments.jsonl" ] || fail "the run was amended: this cannot be checked here"
while IFS= read -r line || [ -n "$line" ]; do
    printf '%s\n' "$line" > "$work/envelope"
    grep -qE "$layout" "$work/envelope" || fail "the envelope is not in the layout that runcard writes, with one signature"
    signed_bytes
    field sig "$work/envelope" | openssl base64 -d -A > "$work/signature"
    if [ "$(head -c 6 "$work/signature" | tr -d '\0')" = SSHSIG ]; then check_ssh; else check_plain; fi
    [ "$(subject metadata.json)" = "$(digest "$run/metadata.json")" ] || fail "the signature is about another metadata.json"
    [ "$(subject SHA256SUMS)" = "$(digest "$run/SHA256SUMS")" ] || fail "the signature is about another SHA256SUMS"
done < "$run/metadata.json.sig"
(cd "$run" && sha256sum --check --quiet --strict SHA256SUMS) || fail "a file was changed, or is missing"
[ -z "$(find "$run" ! -type f ! -type d)" ] || fail "there are links or special files: these cannot be checked here"
(cd "$run" && find . -type f | sed 's|^\./||' | LC_ALL=C sort) | grep -vxE 'metadata\.json(\.sig|\.tsr)?|SHA256SUMS' > "$work/found" || true
sed 's/^[0-9a-f]*  //' "$run/SHA256SUMS" | LC_ALL=C sort | cmp -s - "$work/found" || fail "a file was added"
echo "good: signed, and unchanged since"
