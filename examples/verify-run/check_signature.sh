#!/bin/sh
# Check the signatures of a run without runcard: sh check_signature.sh RUN [SIGNERS [AUTHORITIES.pem]]
#
# With openssl, ssh-keygen and the usual tools of a shell alone. SIGNERS is a file of the form of OpenSSH's allowed_signers:
# with it, one of the signatures at least must be by a key in the file ('' for none). With AUTHORITIES, certificates of time-stamping
# authorities, the run must be time-stamped by one of them. The steps:
#   1. each line of metadata.json.sig is an envelope: the signature is over its type and its payload;
#   2. the payload names the digests of metadata.json, of SHA256SUMS and of every other file;
#   3. these are the digests of the files;
#   4. what was time-stamped is metadata.json, or the first lines of metadata.json.sig: the signatures that existed then.
# It refuses what it cannot read exactly, good or not: runs with amendments or links, file names with control characters or
# backslashes, statements in another layout than runcard's, several time-stamps, and those of authorities whose certificate has
# expired since. Not checked: the journal, and keys that the file of signers limits to a time. `runcard verify` checks all of this.
set -eu
export LC_ALL=C
unset CDPATH

fail() {
    printf 'Error: %s\n' "$1" >&2
    exit 1
}

[ $# -ge 1 ] && [ $# -le 3 ] || {
    echo "usage: sh check_signature.sh RUN [SIGNERS [AUTHORITIES.pem]]" >&2
    exit 64
}
case ${2-} in '' | /*) signers=${2-} ;; *) signers=$PWD/$2 ;; esac
case ${3-} in '' | /*) authorities=${3-} ;; *) authorities=$PWD/$3 ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case $1 in /*) cd -P "$1" ;; *) cd -P "./$1" ;; esac || fail "there is no such folder"

# The text of a field of the envelope: `layout` allows each field only once.
field() { # NAME
    sed -n "s/.*\"$1\":\"\\([^\"]*\\)\".*/\\1/p" "$work/envelope"
}

digest() { # FILE
    openssl dgst -sha256 -r "$1" | cut -d ' ' -f 1
}

# A number of SSH: four bytes, from a place in a file.
number() { # FILE OFFSET
    tail -c "+$(($2 + 1))" "$1" | head -c 4 | od -An -tu1 | awk '{ print (($1 * 256 + $2) * 256 + $3) * 256 + $4 }'
}

# No control characters (newlines aside), which the tools below would take for something else.
is_text() { # FILE
    [ "$(tr -d '\n\040-\176\200-\377' < "$1" | wc -c)" -eq 0 ] && iconv -f UTF-8 -t UTF-8 < "$1" > /dev/null 2>&1
}

# How a statement about this run begins, byte for byte, and what follows as a pattern.
state() {
    id=$(sed -n 's/^    "run_id": "\([A-Za-z0-9._-]*\)",*$/\1/p' metadata.json | head -n 1)
    chains=$(sed -n '/^  "event_chains": \[$/,/^  \]/p' metadata.json | tr -d ' \n' | sed 's/^"event_chains"://; s/,$//')
    [ -n "$chains" ] || chains=$(sed -n 's/^  "event_chains": \(\[\]\),*$/\1/p' metadata.json)
    count=$(wc -l < SHA256SUMS | tr -d ' ')
    {
        printf '{"_type":"https://in-toto.io/Statement/v1","subject":['
        printf '{"name":"%s","digest":{"sha256":"%s"}}' metadata.json "$(digest metadata.json)"
        printf ',{"name":"%s","digest":{"sha256":"%s"}}' SHA256SUMS "$(digest SHA256SUMS)"
        [ "$count" -gt 10000 ] ||
            sed 's/"/\\"/g; s|^\([0-9a-f]*\)  \(\./\)\{0,1\}\(.*\)$|,{"name":"\3","digest":{"sha256":"\1"}}|' SHA256SUMS | tr -d '\n'
        printf '],"predicateType":"urn:runcard:predicate:record:1","predicate":{"kind":"run","id":"%s","directory":"' "$id"
    } > "$work/beginning"
    are_subjects=$([ "$count" -gt 10000 ] && echo false || echo true)
    chains=$(printf '%s' "${chains:-null}" | sed 's/[][{}.*+?()|^$\\]/\\&/g')
    text='([^"\\]|\\.)*'
    ending="^$text\",\"outputs\":\\{\"count\":$count,\"are_subjects\":$are_subjects\\},\"event_chains\":$chains,"
    ending="$ending\"amendments\":\\{\"count\":0,\"head\":null\\},\"ledger\":(null|\\{[^{}]*\\}),"
    ending="$ending\"signer\":\\{\"public_key\":\"$key_type $base64\"\\},\"signed_at\":\"$text\",\"producer\":\\{[^{}]*\\}\\}\\}\$"
}

# What is signed: DSSEv1, the length of the type, the type, the length of the payload, the payload.
read_payload() {
    type=application/vnd.in-toto+json
    field payload | openssl base64 -d -A > "$work/payload"
    printf 'DSSEv1 %d %s %d ' "${#type}" "$type" "$(wc -c < "$work/payload")" > "$work/data"
    cat "$work/payload" >> "$work/data"
    size=$(wc -c < "$work/beginning")
    head -c "$size" "$work/payload" | cmp -s - "$work/beginning" || fail "the signature is about something else than this run as it is"
    tail -c "+$((size + 1))" "$work/payload" > "$work/rest"
    [ "$(awk 'END { print NR }' "$work/payload")" -eq 1 ] && is_text "$work/payload" && grep -qE "$ending" "$work/rest" ||
        fail "the statement is about other chains or amendments, or not in the layout that runcard writes"
}

# A plain signature of Ed25519: openssl wants the key in its own form, which is a fixed beginning and the 32 bytes.
check_plain() {
    sed -n 's/.*"signer":{"public_key":"ssh-ed25519 \([^"]*\)"}.*/\1/p' "$work/rest" | openssl base64 -d -A > "$work/key"
    { printf '\000\000\000\013ssh-ed25519\000\000\000\040' && tail -c 32 "$work/key"; } | cmp -s - "$work/key" &&
        [ "$(wc -c < "$work/key")" -eq 51 ] || fail "a plain signature needs a key of Ed25519"
    { printf '\060\052\060\005\006\003\053\145\160\003\041\000' && tail -c 32 "$work/key"; } > "$work/key.der"
    openssl pkeyutl -verify -pubin -keyform DER -inkey "$work/key.der" -rawin -in "$work/data" -sigfile "$work/signature" \
        > "$work/said" 2>&1 || fail "the signature is wrong"
}

# An SSH signature: ssh-keygen wants it as text. The key is in it, after six letters, a version and its length.
check_ssh() {
    {
        echo '-----BEGIN SSH SIGNATURE-----'
        openssl base64 -in "$work/signature"
        echo '-----END SSH SIGNATURE-----'
    } > "$work/signature.ssh"
    ssh-keygen -Y check-novalidate -n runcard -s "$work/signature.ssh" < "$work/data" > "$work/said" 2>&1 ||
        fail "the signature is wrong: $(head -n 1 "$work/said")"
    tail -c +15 "$work/signature" | head -c "$(number "$work/signature" 10)" > "$work/key"
}

# The type of the key, and whether runcard accepts it.
read_key() {
    key_name=$(tail -c +5 "$work/key" | head -c "$(number "$work/key" 0)")
    printf '%s %s\n' "$key_name" "$(openssl base64 -A -in "$work/key")" > "$work/key.pub"
    ssh-keygen -lf "$work/key.pub" > "$work/said" 2>&1 || fail "the key cannot be read"
    read -r bits fingerprint _ < "$work/said"
    case $key_name in
        ssh-rsa) [ "$bits" -ge 2048 ] && [ "$bits" -le 16384 ] || fail "an RSA key of $bits bits is not accepted" ;;
        sk-*) [ "$(($(tail -c 5 "$work/signature" | head -c 1 | od -An -tu1) % 2))" -eq 1 ] || fail "the hardware key was not touched" ;;
    esac
}

# The names of the key in the file of signers. Only `namespaces` is understood as an option: other keys are not trusted here.
name_signer() {
    [ -n "$signers" ] || return 0
    KEY=$(cat "$work/key.pub") awk '
        { options = $2 ~ /^(ssh|ecdsa|sk)-/ ? "" : $2; key = options == "" ? $2 " " $3 : $3 " " $4 }
        $1 !~ /^#/ && key == ENVIRON["KEY"] "" && (options == "" || options == "namespaces=\"runcard\"") {
            count = split($1, names, ",")
            for (each = 1; each <= count; each++)
                if (names[each] != "" && names[each] !~ /^!/) found = found (found == "" ? "" : ", ") names[each]
            print found
            exit
        }' "$work/signers"
}

# One reply of an authority, about the document or about the signatures so far.
check_time() {
    reply=metadata.json.tsr
    [ -s "$reply" ] || fail "the run is not time-stamped"
    [ "$(head -c 2 "$reply" | od -An -tx1 | tr -d ' \n')" = 3082 ] &&
        [ "$(wc -c < "$reply")" -eq "$(($(tail -c +3 "$reply" | head -c 2 | od -An -tu1 | awk '{ print $1 * 256 + $2 }') + 4))" ] ||
        fail "there is more than one time-stamp: this cannot be checked here"
    openssl ts -reply -in "$reply" -text > "$work/reply" 2> "$work/said" || fail "the time-stamp cannot be read"
    grep -qx 'Hash Algorithm: sha256' "$work/reply" || fail "the time-stamp is not for a digest of SHA-256"
    lines=0
    while [ "$lines" -le "$(awk 'END { print NR }' metadata.json.sig)" ]; do
        if [ "$lines" -eq 0 ]; then cat metadata.json; else head -n "$lines" metadata.json.sig; fi > "$work/head"
        if openssl ts -verify -data "$work/head" -in "$reply" -CAfile "$authorities" > "$work/said" 2>&1; then
            printf 'time-stamped %s: %s\n' "$(sed -n 's/^Time stamp: //p' "$work/reply")" \
                "$(case $lines in
                    0) echo "the run, without its signatures" ;;
                    1) echo "the run and its first signature" ;;
                    *) echo "the run and its signatures 1 to $lines" ;;
                esac)"
            return
        fi
        lines=$((lines + 1))
    done
    fail "the time-stamp is wrong, about something else, or not by an authority that you trust"
}

base64='([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?'
key_type='(ssh|ecdsa|sk)-[a-z0-9@.-]+'
layout="^\\{\"payloadType\":\"application/vnd\\.in-toto\\+json\",\"payload\":\"$base64\","
layout="$layout\"signatures\":\\[\\{\"keyid\":\"[A-Za-z0-9+/:]*\",\"sig\":\"$base64\"\\}\\]\\}\$"
time='[0-9]{8}([0-9]{4}([0-9]{2})?)?Z?'
option="(namespaces=\"[^\" ]*\"|valid-(after|before)=\"$time\")"

[ -z "$(find . ! -type f ! -type d)" ] || fail "there are links or special files: these cannot be checked here"
[ -s metadata.json ] && [ -s SHA256SUMS ] || fail "metadata.json or SHA256SUMS is missing"
[ -s metadata.json.sig ] || fail "the run is not signed"
[ ! -e amendments.jsonl ] || fail "the run was amended: this cannot be checked here, use \`runcard verify\`"
[ -z "$(find . -name '*[\\[:cntrl:]]*')" ] || fail "there are unusual file names: these cannot be checked here, use \`runcard verify\`"
grep -q '^  "metadata_version": "1\.' metadata.json || fail "this version of the document is not known"
is_text metadata.json && is_text SHA256SUMS && is_text metadata.json.sig || fail "a document is not plain text"
[ "$(tail -c 1 SHA256SUMS | wc -l)" -eq 1 ] && ! grep -qvE '^[0-9a-f]{64}  [^\\]+$' SHA256SUMS || fail "SHA256SUMS cannot be read"
if [ -n "$signers" ]; then
    tr '\t\r' '  ' < "$signers" > "$work/signers" && is_text "$work/signers" || fail "the file of signers cannot be read"
    ! grep -qvE "^ *(#.*|[^\" ]+ +($option(,$option)* +)?$key_type +$base64( .*)?)?\$" "$work/signers" ||
        fail "a line of the file of signers cannot be read here"
fi

state
trusted=
while IFS= read -r line || [ -n "$line" ]; do
    printf '%s\n' "$line" > "$work/envelope"
    grep -qE "$layout" "$work/envelope" || fail "an envelope is not in the layout that runcard writes, with one signature"
    read_payload
    field sig | openssl base64 -d -A > "$work/signature"
    if [ "$(head -c 6 "$work/signature" | tr -d '\0')" = SSHSIG ]; then check_ssh; else check_plain; fi
    read_key
    name=$(name_signer)
    printf 'signed by %s (%s)\n' "${name:-an unknown key}" "$fingerprint"
    trusted=$trusted$name
done < metadata.json.sig
[ -z "$signers" ] || [ -n "$trusted" ] || fail "no signature is by a key that the file of signers allows without limits"

sha256sum --check --quiet --strict SHA256SUMS > "$work/said" 2>&1 || fail "a file was changed, or is missing"
find . -type f | sed 's|^\./||' | sort | grep -vxE 'metadata\.json(\.sig|\.tsr)?|SHA256SUMS' > "$work/found" || true
sed 's/^[0-9a-f]*  //; s|^\./||' SHA256SUMS | sort | cmp -s - "$work/found" || fail "a file was added"
if [ -n "$authorities" ]; then
    check_time
elif [ -e metadata.json.tsr ]; then
    echo "the time-stamps were not checked"
fi
echo "good: unchanged since it was signed"
