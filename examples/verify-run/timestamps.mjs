// Check the time-stamps of a run (RFC 3161): the signature of the authority, and its certificate. No dependencies.
//
// Whether the authority is one that you trust is not checked here: compare its certificate with those that you have.
import { constants, createHash, createPublicKey, verify } from "node:crypto";

const MOST_REPLIES = 100, MOST_CERTIFICATES = 20, LARGEST_REPLY = 1 << 20, LARGEST_FILE = 1 << 22;
const INTEGER = 0x02, OCTETS = 0x04, OID = 0x06, UTC_TIME = 0x17, TIME = 0x18;
const SEQUENCE = 0x30, SET = 0x31, CONTEXT = 0xa0;
const SHA256 = "2.16.840.1.101.3.4.2.1";
const HASHES = { [SHA256]: "sha256", "2.16.840.1.101.3.4.2.2": "sha384", "2.16.840.1.101.3.4.2.3": "sha512" };
const SIGNED_DATA = "1.2.840.113549.1.7.2", TOKEN_INFO = "1.2.840.113549.1.9.16.1.4";
const CONTENT_TYPE = "1.2.840.113549.1.9.3", MESSAGE_DIGEST = "1.2.840.113549.1.9.4";
const CERTIFICATE_V1 = "1.2.840.113549.1.9.16.2.12", CERTIFICATE_V2 = "1.2.840.113549.1.9.16.2.47";
const KEY_ID = "2.5.29.14", PURPOSE = "2.5.29.37", STAMPING = "1.3.6.1.5.5.7.3.8", COMMON_NAME = "2.5.4.3";
const PSS = "1.2.840.113549.1.1.10", ED25519 = "1.3.101.112";
const ALGORITHMS = { // of signatures, with the hash that they name
  "1.2.840.113549.1.1.11": "sha256", "1.2.840.113549.1.1.12": "sha384", "1.2.840.113549.1.1.13": "sha512",
  "1.2.840.10045.4.3.2": "sha256", "1.2.840.10045.4.3.3": "sha384", "1.2.840.10045.4.3.4": "sha512",
  "1.2.840.113549.1.1.1": null, "1.2.840.10045.2.1": null, [PSS]: null, [ED25519]: null,
};

// The time-stamps of a record that are right. `heads` are the digests that may have been stamped, as hex. `wrong` gets a
// message for each of the others.
export function checkTimestamps(data, heads, wrong) {
  const right = [];
  if (data.length > LARGEST_FILE) wrong("the file of time-stamps is too large");
  let number = 0;
  try {
    if (!data.length) throw new Error("the file is empty");
    for (const parts = new Parts(data); parts.hasMore; ) {
      number += 1;
      const reply = parts.next(SEQUENCE);
      if (number > MOST_REPLIES) throw new Error("there are too many");
      try {
        right.push(checkReply(reply, heads));
      } catch (error) {
        wrong(`time-stamp ${number}: ${error.message}`);
      }
    }
  } catch (error) { // where it ends is not known
    wrong(`time-stamp ${number}: ${error.message}`);
  }
  return right;
}

function checkReply(reply, heads) {
  if (reply.raw.length > LARGEST_REPLY) throw new Error("it is too large");
  const token = readToken(reply);
  if (token.imprintAlgorithm !== SHA256 || token.imprint.length !== 32) throw new Error("it is not for a digest of SHA-256");
  if (token.certificates.length > MOST_CERTIFICATES) throw new Error("it has too many certificates");
  const certificates = token.certificates.map(readCertificate);
  const own = certificates.find((certificate) => isNamed(token.signer, certificate));
  if (!own) throw new Error("it does not hold the certificate of the authority");
  checkSignature(token, own);
  if (own.purposes?.length !== 1 || own.purposes[0] !== STAMPING || !own.isPurposeCritical)
    throw new Error("the certificate of the authority is not for time-stamps only");
  if (token.time < own.validFrom || token.time > own.validTo) throw new Error("the certificate was not valid when it stamped");
  if (!heads.has(token.imprint.toString("hex"))) throw new Error("it is about something else than this record");
  return { time: new Date(Math.ceil((token.time + token.accuracy) / 1000) * 1000).toISOString(), authority: own.name };
}

function checkSignature({ content, signer }, certificate) {
  const name = signer.certificateHash;
  if (!name || !createHash(name).update(certificate.raw).digest().equals(signer.certificateDigest))
    throw new Error("the signature does not name the certificate");
  const digestName = HASHES[signer.digestAlgorithm];
  if (!digestName) throw new Error("it is signed with a weak hash");
  if (!createHash(digestName).update(content).digest().equals(signer.contentDigest))
    throw new Error("it was changed after it was signed");
  if (!(signer.algorithm in ALGORITHMS)) throw new Error("it is signed with a weak or unknown algorithm");
  const hash = ALGORITHMS[signer.algorithm] ?? digestName;
  const { key } = certificate;
  const type = key.asymmetricKeyType;
  if (!["rsa", "ec", "ed25519"].includes(type)) throw new Error("the key of the authority is of an unknown type");
  if (type === "rsa" && key.asymmetricKeyDetails.modulusLength < 2048) throw new Error("the key of the authority is too short");
  const options = signer.algorithm === PSS && type === "rsa"
    ? { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_AUTO } : key;
  if (!verify(type === "ed25519" ? null : hash, signer.signedBytes, options, signer.signature))
    throw new Error("the signature of the authority is wrong");
}

const isNamed = ({ issuer, serial, keyId }, certificate) =>
  issuer ? certificate.serial.equals(serial) && certificate.issuer.equals(issuer)
  : certificate.keyId !== null && certificate.keyId.equals(keyId);

// --- What a reply holds -------------------------------------------------------------------------------------------------

function readToken(reply) {
  const fields = reply.parts();
  const status = fields.next(SEQUENCE).parts().next(INTEGER).content;
  if (status.length !== 1 || status[0] > 1) throw new Error("no time-stamp was given");
  const [kind, data] = readContent(fields.next(SEQUENCE));
  if (kind !== SIGNED_DATA || !data) throw new Error("the token is not signed");
  const parts = data.expect(SEQUENCE).parts();
  parts.next(INTEGER);
  parts.next(SET);
  const [type, wrapped] = readContent(parts.next(SEQUENCE));
  if (type !== TOKEN_INFO || !wrapped) throw new Error("what was signed is not a time-stamp");
  const certificates = parts.optional(CONTEXT);
  parts.optional(CONTEXT | 1);
  const signers = parts.next(SET).parts().all();
  if (signers.length !== 1) throw new Error("it does not have one signer");
  const content = wrapped.expect(OCTETS).content;
  return {
    ...readInfo(content), content,
    certificates: certificates ? certificates.parts().all().map(({ raw }) => raw) : [],
    signer: readSigner(signers[0].expect(SEQUENCE).parts()),
  };
}

function readContent(element) {
  const parts = element.parts();
  const kind = parts.next(OID).objectId(), wrapped = parts.optional(CONTEXT);
  return [kind, wrapped && only(wrapped.content)];
}

function readInfo(content) {
  const fields = only(content).expect(SEQUENCE).parts();
  const version = fields.next(INTEGER).content;
  if (version.length !== 1 || version[0] !== 1) throw new Error("the version of the time-stamp is not known");
  fields.next(OID); // the policy
  const imprint = fields.next(SEQUENCE).parts();
  const imprintAlgorithm = readAlgorithm(imprint.next(SEQUENCE)), digest = imprint.next(OCTETS).content;
  fields.next(INTEGER); // the serial number
  const time = fields.next(TIME).time(), accuracy = readAccuracy(fields.optional(SEQUENCE));
  if (time < Date.UTC(2000, 0) || time > Date.UTC(2200, 0) || accuracy > 86_400_000) throw new Error("the time is not plausible");
  return { imprintAlgorithm, imprint: digest, time, accuracy };
}

// In milliseconds.
function readAccuracy(element) {
  if (!element) return 0;
  const parts = element.parts();
  const [seconds, millis, micros] = [INTEGER, 0x80, 0x81].map((tag) => {
    const part = parts.optional(tag);
    return part ? Number(BigInt(`0x${part.content.subarray(0, 8).toString("hex") || "0"}`)) : 0;
  });
  return seconds * 1000 + millis + micros / 1000;
}

const readAlgorithm = (element) => element.parts().next(OID).objectId();

function readSigner(fields) {
  fields.next(INTEGER);
  const name = fields.next();
  const signer = { issuer: null, serial: null, keyId: null };
  if (name.tag === SEQUENCE) {
    const parts = name.parts();
    signer.issuer = parts.next(SEQUENCE).raw;
    signer.serial = parts.next(INTEGER).content;
  } else signer.keyId = name.expect(0x80).content;
  signer.digestAlgorithm = readAlgorithm(fields.next(SEQUENCE));
  const attributes = fields.next(CONTEXT);
  signer.algorithm = readAlgorithm(fields.next(SEQUENCE));
  signer.signature = fields.next(OCTETS).content;
  signer.signedBytes = Buffer.concat([Buffer.from([SET]), attributes.raw.subarray(1)]); // as a set
  const values = new Map();
  for (const attribute of attributes.parts().all()) {
    const parts = attribute.expect(SEQUENCE).parts(), id = parts.next(OID).objectId();
    if (values.has(id)) throw new Error("a signed attribute occurs twice");
    values.set(id, only(parts.next(SET).content));
  }
  if (values.get(CONTENT_TYPE)?.objectId() !== TOKEN_INFO || !values.has(MESSAGE_DIGEST))
    throw new Error("the signature does not cover the time-stamp");
  signer.contentDigest = values.get(MESSAGE_DIGEST).expect(OCTETS).content;
  return Object.assign(signer, readCertificateDigest(values));
}

// The certificate that is meant: without this, another one of the same key would do.
function readCertificateDigest(values) {
  const found = values.get(CERTIFICATE_V2) ?? values.get(CERTIFICATE_V1);
  if (!found) return { certificateHash: null };
  const fields = found.parts().next(SEQUENCE).parts().next(SEQUENCE).parts();
  const algorithm = values.has(CERTIFICATE_V2) ? fields.optional(SEQUENCE) : null;
  const name = algorithm ? HASHES[readAlgorithm(algorithm)] : values.has(CERTIFICATE_V2) ? "sha256" : "sha1";
  return { certificateHash: name, certificateDigest: fields.next(OCTETS).content };
}

function readCertificate(raw) {
  const fields = only(raw).expect(SEQUENCE).parts().next(SEQUENCE).parts();
  fields.optional(CONTEXT); // the version
  const serial = fields.next(INTEGER).content;
  fields.next(SEQUENCE);
  const issuer = fields.next(SEQUENCE).raw, validity = fields.next(SEQUENCE).parts();
  const [validFrom, validTo] = [validity.next().time(), validity.next().time()];
  const subject = fields.next(SEQUENCE), spki = fields.next(SEQUENCE).raw;
  const certificate = { raw, serial, issuer, validFrom, validTo, keyId: null, purposes: null, isPurposeCritical: false };
  certificate.name = commonName(subject);
  certificate.key = createPublicKey({ key: spki, format: "der", type: "spki" });
  for (const part of fields.all()) if (part.tag === (CONTEXT | 3)) readExtensions(only(part.content), certificate);
  return certificate;
}

function readExtensions(list, certificate) {
  for (const extension of list.expect(SEQUENCE).parts().all()) {
    const parts = extension.parts(), id = parts.next(OID).objectId();
    const isCritical = parts.optional(0x01)?.content[0] === 0xff, value = parts.next(OCTETS).content;
    if (id === KEY_ID) certificate.keyId = only(value).expect(OCTETS).content;
    if (id !== PURPOSE) continue;
    if (certificate.purposes) throw new Error("the certificate has two purposes");
    certificate.purposes = only(value).expect(SEQUENCE).parts().all().map((purpose) => purpose.objectId());
    certificate.isPurposeCritical = isCritical;
  }
}

function commonName(subject) {
  for (const set of subject.parts().all())
    for (const pair of set.parts().all()) {
      const parts = pair.parts();
      if (parts.next(OID).objectId() === COMMON_NAME) return parts.next().content.toString("utf8");
    }
  return "";
}

// --- DER ----------------------------------------------------------------------------------------------------------------

class Element {
  constructor(tag, content, raw) { Object.assign(this, { tag, content, raw }); }
  expect(tag) {
    if (this.tag !== tag) throw new Error(`expected an element of type ${tag}, found ${this.tag}`);
    return this;
  }
  parts() { return new Parts(this.content); }
  objectId() {
    this.expect(OID);
    if (!this.content.length || this.content.length > 64 || this.content.at(-1) & 0x80) throw new Error("an object identifier is cut");
    const numbers = [];
    let number = 0n;
    for (const byte of this.content) {
      number = (number << 7n) | BigInt(byte & 0x7f);
      if (!(byte & 0x80)) { numbers.push(number); number = 0n; }
    }
    const first = numbers[0] < 80n ? numbers[0] / 40n : 2n;
    return [first, numbers[0] - 40n * first, ...numbers.slice(1)].join(".");
  }
  time() {
    const text = this.content.toString("latin1");
    const long = this.tag === UTC_TIME ? `${Number(text.slice(0, 2)) < 50 ? 20 : 19}${text}` : text;
    const match = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\.\d{1,9})?Z$/.exec(long);
    if (!match || ![UTC_TIME, TIME].includes(this.tag)) throw new Error("a time is not of the form YYYYMMDDhhmmss[.f]Z");
    const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number);
    const moment = new Date(Date.UTC(year, month - 1, day, hour, minute, second));
    if (moment.getUTCMonth() !== month - 1 || moment.getUTCDate() !== day || hour > 23 || minute > 59 || second > 59)
      throw new Error("there is no such time");
    return moment.getTime() + (match[7] ? Number(match[7]) * 1000 : 0);
  }
}

class Parts {
  constructor(data) { this.data = data; this.at = 0; }
  get hasMore() { return this.at < this.data.length; }
  next(tag) {
    const { data, at } = this;
    if (at + 2 > data.length) throw new Error("the data is cut");
    if ((data[at] & 0x1f) === 0x1f) throw new Error("an element has a type of several bytes");
    let length = data[at + 1], start = at + 2;
    if (length & 0x80) {
      const size = length & 0x7f;
      if (size < 1 || size > 4 || start + size > data.length) throw new Error("an element has a wrong length");
      length = data.readUIntBE(start, size);
      start += size;
    }
    if (start + length > data.length) throw new Error("the data is cut");
    this.at = start + length;
    const element = new Element(data[at], data.subarray(start, this.at), data.subarray(at, this.at));
    return tag === undefined ? element : element.expect(tag);
  }
  optional(tag) { return this.hasMore && this.data[this.at] === tag ? this.next() : null; }
  all() {
    const elements = [];
    while (this.hasMore) elements.push(this.next());
    return elements;
  }
}

function only(data) {
  const parts = new Parts(data), element = parts.next();
  if (parts.hasMore) throw new Error("there is more data behind the end");
  return element;
}
