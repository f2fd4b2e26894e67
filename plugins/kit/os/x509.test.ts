import { execFileSync } from "node:child_process";
import { createPrivateKey, generateKeyPairSync, X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import t from "tap";
import { isFault } from "../base/fault.ts";
import {
  createAuthority,
  createCertificate,
  createKeyPair,
  createSigningRequest,
  issueCertificate,
  parseCertificate,
  parseSigningRequest,
} from "./x509.ts";

const now = Date.UTC(2026, 5, 1, 12, 30, 15);
const year = 365 * 86_400_000;
const validity = { notBefore: now, notAfter: now + year };
const authority = createAuthority({ commonName: "skiff-ca", notBefore: now, notAfter: now + 40 * year });

const dir = mkdtempSync(join(tmpdir(), "skiff-x509-"));
t.teardown(() => rmSync(dir, { recursive: true }));
const file = (name: string, text: string) => {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
};
const openssl = (...args: string[]) =>
  execFileSync("openssl", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

t.test("createAuthority() makes a self-signed CA that openssl and node take", async (t) => {
  const x509 = new X509Certificate(authority.cert);
  t.equal(x509.verify(x509.publicKey), true);
  t.equal(x509.ca, true);
  t.equal(x509.checkPrivateKey(createPrivateKey(authority.key)), true);
  const text = openssl("x509", "-noout", "-text", "-in", file("ca.crt", authority.cert));
  t.match(text, /CA:TRUE/);
  t.match(text, /Digital Signature, Key Encipherment, Certificate Sign/);
  t.match(text, /Not Before: Jun {2}1 12:30:15 2026/);
  t.match(text, /Not After : May 22 12:30:15 2066/, "a year after 2049 is a GeneralizedTime");
});

t.test("createCertificate() issues what openssl verifies under the authority", async (t) => {
  const { cert, key } = createCertificate(authority, {
    ...validity,
    commonName: "system:node:pi",
    organizations: ["system:nodes", "second, with comma"],
    dnsNames: ["pi", "pi.local"],
    ipAddresses: ["10.0.0.7", "fd00::7", "::1"],
    usages: ["digital signature", "server auth", "client auth"],
  });
  const ca = file("ca.crt", authority.cert);
  const leaf = file("leaf.crt", cert);
  const at = String(Math.floor(now / 1000) + 60);
  t.match(openssl("verify", "-x509_strict", "-attime", at, "-CAfile", ca, "-purpose", "sslserver", leaf), /OK/);
  t.match(openssl("verify", "-x509_strict", "-attime", at, "-CAfile", ca, "-purpose", "sslclient", leaf), /OK/);
  const text = openssl("x509", "-noout", "-text", "-in", leaf);
  t.match(
    text,
    /DNS:pi, DNS:pi\.local, IP Address:10\.0\.0\.7, IP Address:FD00:0:0:0:0:0:0:7, IP Address:0:0:0:0:0:0:0:1/,
  );
  t.match(text, /TLS Web Server Authentication, TLS Web Client Authentication/);
  const x509 = new X509Certificate(cert);
  t.equal(x509.verify(new X509Certificate(authority.cert).publicKey), true);
  t.equal(x509.checkPrivateKey(createPrivateKey(key)), true);
  t.equal(x509.ca, false);
});

t.test("parseCertificate() reads what createCertificate() wrote", async (t) => {
  const { cert } = createCertificate(authority, {
    ...validity,
    commonName: "Ünïcode",
    organizations: ["a", "b"],
    dnsNames: ["x.example"],
    ipAddresses: ["1.2.3.4", "fd00::1:0:0:1"],
    uris: ["spiffe://a/b"],
    emailAddresses: ["a@b.example"],
    usages: ["client auth"],
  });
  const facts = parseCertificate(cert);
  const x509 = new X509Certificate(cert);
  t.match(facts, {
    commonName: "Ünïcode",
    organizations: ["a", "b"],
    dnsNames: ["x.example"],
    ipAddresses: ["1.2.3.4", "fd00::1:0:0:1"],
    uris: ["spiffe://a/b"],
    emailAddresses: ["a@b.example"],
    isAuthority: false,
    notBefore: validity.notBefore,
    notAfter: validity.notAfter,
  });
  t.equal(facts.fingerprint256, x509.fingerprint256.replaceAll(":", "").toLowerCase());
  t.equal(facts.serial, x509.serialNumber.toLowerCase());
  t.equal(facts.publicKey, x509.publicKey.export({ type: "spki", format: "pem" }));
  t.same(parseCertificate(x509.raw), facts);
  t.equal(parseCertificate(authority.cert).isAuthority, true);
});

t.test("issueCertificate() never outlives the authority and refuses to end before it begins", async (t) => {
  const short = createAuthority({ commonName: "short", notBefore: now, notAfter: now + 1000 });
  const { cert } = createCertificate(short, { ...validity, commonName: "x", usages: ["client auth"] });
  t.equal(parseCertificate(cert).notAfter, now + 1000);
  const backwards = { notBefore: now, notAfter: now - 1, commonName: "x", usages: ["client auth"] as const };
  t.throws(() => createCertificate(short, backwards), { code: "invalid" });
});

t.test("issueCertificate() works under an RSA authority made by openssl", async (t) => {
  openssl(
    "req",
    "-x509",
    "-newkey",
    "rsa:2048",
    "-nodes",
    "-days",
    "3650",
    "-subj",
    "/O=Corp/CN=corp-ca",
    "-keyout",
    join(dir, "rsa.key"),
    "-out",
    join(dir, "rsa.crt"),
  );
  const rsa = {
    cert: execFileSync("cat", [join(dir, "rsa.crt")], { encoding: "utf8" }),
    key: execFileSync("cat", [join(dir, "rsa.key")], { encoding: "utf8" }),
  };
  const begin = parseCertificate(rsa.cert).notBefore;
  const { publicKey } = createKeyPair();
  const cert = issueCertificate(rsa, {
    notBefore: begin,
    notAfter: begin + year,
    commonName: "x",
    publicKey,
    usages: ["client auth"],
  });
  t.match(
    openssl(
      "verify",
      "-attime",
      String(begin / 1000 + 60),
      "-CAfile",
      join(dir, "rsa.crt"),
      file("under-rsa.crt", cert),
    ),
    /OK/,
  );
});

t.test("createSigningRequest() makes what openssl verifies, and parseSigningRequest() reads it", async (t) => {
  const { key, publicKey } = createKeyPair();
  const request = createSigningRequest({
    key,
    commonName: "system:node:pi",
    organizations: ["system:nodes"],
    dnsNames: ["pi"],
    ipAddresses: ["10.0.0.7"],
  });
  t.match(openssl("req", "-verify", "-noout", "-text", "-in", file("pi.csr", request)), /system:node:pi/);
  t.same(parseSigningRequest(request), {
    commonName: "system:node:pi",
    organizations: ["system:nodes"],
    dnsNames: ["pi"],
    ipAddresses: ["10.0.0.7"],
    emailAddresses: [],
    uris: [],
    otherAttributes: [],
    publicKey,
  });
});

for (const [name, algorithm] of [
  ["RSA", ["rsa:2048"]],
  ["P-384", ["ec", "-pkeyopt", "ec_paramgen_curve:secp384r1", "-sha384"]],
  ["Ed25519", ["ed25519"]],
] as const) {
  t.test(`parseSigningRequest() reads openssl's request with an ${name} key`, async (t) => {
    openssl(
      "req",
      "-new",
      "-newkey",
      ...algorithm,
      "-nodes",
      "-subj",
      "/C=NO/O=a+O=b/CN=who",
      "-addext",
      "subjectAltName=DNS:x.example,IP:::1",
      "-keyout",
      join(dir, "k"),
      "-out",
      join(dir, "r"),
    );
    const request = parseSigningRequest(execFileSync("cat", [join(dir, "r")], { encoding: "utf8" }));
    t.match(request, {
      commonName: "who",
      organizations: ["a", "b"],
      dnsNames: ["x.example"],
      ipAddresses: ["::1"],
      otherAttributes: ["2.5.4.6"],
    });
  });
}

t.test("parseSigningRequest() refuses a request signed by another key", async (t) => {
  const mine = createSigningRequest({ key: createKeyPair().key, commonName: "a" });
  const der = Buffer.from(mine.split("\n").slice(1, -2).join(""), "base64");
  const name = der.indexOf("a", der.indexOf(Buffer.from([0x55, 0x04, 0x03])));
  der[name] = "b".charCodeAt(0);
  const forged = `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`;
  t.throws(() => parseSigningRequest(forged), { code: "invalid", message: /not signed by its own key/ });
});

t.test("createCertificate() refuses names that cannot be", async (t) => {
  const make = (names: object) => () =>
    createCertificate(authority, { ...validity, commonName: "x", usages: ["client auth"], ...names });
  t.throws(make({ ipAddresses: ["10.0.0"] }), { code: "invalid" });
  t.throws(make({ dnsNames: ["Ünï"] }), { code: "invalid" });
  t.throws(make({ usages: ["world domination"] }), { code: "invalid" });
});

t.test("an Ed25519 authority signs too", async (t) => {
  const { privateKey } = generateKeyPairSync("ed25519");
  const key = privateKey.export({ type: "pkcs8", format: "pem" }) as string;
  const request = createSigningRequest({ key, commonName: "e" });
  t.equal(parseSigningRequest(request).commonName, "e");
});

t.test("parsers answer damaged bytes with a Fault", async () => {
  const cert = Buffer.from(authority.cert.split("\n").slice(1, -2).join(""), "base64");
  const request = Buffer.from(
    createSigningRequest({ key: authority.key, commonName: "a", dnsNames: ["b"] })
      .split("\n")
      .slice(1, -2)
      .join(""),
    "base64",
  );
  const damage = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(damage, fc.option(fc.nat(), { nil: undefined }), (changes, cut) => {
      for (const [label, source, parse] of [
        ["CERTIFICATE", cert, parseCertificate],
        ["CERTIFICATE REQUEST", request, parseSigningRequest],
      ] as const) {
        const bytes = Buffer.from(cut === undefined ? source : source.subarray(0, cut % source.length));
        for (const [at, value] of changes) if (bytes.length > 0) bytes[at % bytes.length] = value;
        try {
          parse(`-----BEGIN ${label}-----\n${bytes.toString("base64")}\n-----END ${label}-----`);
        } catch (error) {
          if (!isFault(error)) throw error;
        }
      }
    }),
  );
});
