import { execFileSync, spawn, spawnSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { FakeClock, systemClock } from "../../plugins/kit/base/clock.ts";
import { selfCommand } from "../../plugins/kit/os/platform/runtime.ts";
import { createAuthority, parseCertificate } from "../../plugins/kit/os/x509.ts";
import { openPki } from "./pki.ts";
import { jsonWebKeySet } from "./tokens/discovery.ts";
import { isSignedBy, parseJwt, signJwt } from "./tokens/jwt.ts";

const day = 86_400_000;
const folder = () => {
  const dir = mkdtempSync(join(tmpdir(), "skiff-pki-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  return join(dir, "pki");
};
const serving = { dnsNames: ["pi", "pi.lan"], ipAddresses: ["192.168.7.7", "10.43.0.1"] };

t.test("openPki() makes everything once, private to the owner, and loads the same again", async (t) => {
  const dir = folder();
  const clock = new FakeClock();
  const pki = openPki({ dir, clock, serving });
  const first = [pki.serving(), pki.adminClient(), pki.nodeClient("pi"), pki.frontProxyClient(), pki.kubeletClient()];
  pki.writeAdminKubeconfig(join(dir, "..", "admin.kubeconfig"), "https://127.0.0.1:6443");
  for (const name of readdirSync(dir)) {
    t.equal(statSync(join(dir, name)).mode & 0o777, name.endsWith(".crt") ? 0o644 : 0o600, name);
  }
  t.equal(statSync(dir).mode & 0o777, 0o700);
  t.equal(statSync(join(dir, "..", "admin.kubeconfig")).mode & 0o777, 0o600);
  const again = openPki({ dir, clock, serving });
  t.same(
    [again.serving(), again.adminClient(), again.nodeClient("pi"), again.frontProxyClient(), again.kubeletClient()],
    first,
  );
  t.same(again.ca, pki.ca);
  t.equal(again.serviceAccountKey.keyId, pki.serviceAccountKey.keyId);
  t.equal(again.caHash, new X509Certificate(pki.ca.cert).fingerprint256.replaceAll(":", "").toLowerCase());
});

t.test("serviceAccountKeys: an earlier key that was renamed still counts, also as its public half alone", async (t) => {
  const dir = folder();
  const clock = new FakeClock();
  const first = openPki({ dir, clock, serving }).serviceAccountKey;
  const token = parseJwt(signJwt({ sub: "a" }, first));
  renameSync(join(dir, "service-account.key"), join(dir, "service-account-1.key"));
  const second = openPki({ dir, clock, serving });
  t.not(second.serviceAccountKey.keyId, first.keyId, "a new key signs");
  t.same(
    second.serviceAccountKeys.map(({ keyId }) => keyId),
    [second.serviceAccountKey.keyId, first.keyId],
  );
  t.ok(token && isSignedBy(token, second.serviceAccountKeys));
  t.equal(jsonWebKeySet(second.serviceAccountKeys).keys.length, 2);
  rmSync(join(dir, "service-account-1.key"));
  writeFileSync(join(dir, "service-account-1.pub"), first.key.export({ type: "spki", format: "pem" }));
  const third = openPki({ dir, clock, serving });
  t.ok(token && isSignedBy(token, third.serviceAccountKeys));
  t.notOk(JSON.stringify(jsonWebKeySet(third.serviceAccountKeys)).includes('"d"'), "no private part is published");
  rmSync(join(dir, "service-account-1.pub"));
  t.notOk(token && isSignedBy(token, openPki({ dir, clock, serving }).serviceAccountKeys), "until it is removed");
  writeFileSync(join(dir, "service-account-2.key"), "none");
  t.throws(() => openPki({ dir, clock, serving }), { code: "invalid" });
});

t.test("serving() names every way to reach the server and follows new names", async (t) => {
  const dir = folder();
  const clock = new FakeClock();
  const facts = parseCertificate(openPki({ dir, clock, serving }).serving().cert);
  for (const name of ["localhost", "kubernetes.default.svc.cluster.local", "pi.lan"])
    t.ok(facts.dnsNames.includes(name), name);
  for (const ip of ["127.0.0.1", "::1", "10.43.0.1"]) t.ok(facts.ipAddresses.includes(ip), ip);
  const moved = openPki({ dir, clock, serving: { ...serving, ipAddresses: ["192.168.7.8", "10.43.0.1"] } });
  t.ok(parseCertificate(moved.serving().cert).ipAddresses.includes("192.168.7.8"));
});

t.test("leaf certificates are issued anew before they end, the authority stays", async (t) => {
  const dir = folder();
  const clock = new FakeClock();
  const pki = openPki({ dir, clock, serving });
  const before = pki.nodeClient("pi");
  await clock.advance(200 * day);
  t.same(pki.nodeClient("pi"), before);
  await clock.advance(60 * day);
  const after = pki.nodeClient("pi");
  t.not(after.cert, before.cert);
  t.ok(parseCertificate(after.cert).notAfter > clock.now() + 300 * day);
  t.match(parseCertificate(after.cert), { commonName: "system:node:pi", organizations: ["system:nodes"] });
});

t.test("a clock in 1970 makes an authority that is good once the clock is right", async (t) => {
  const pki = openPki({ dir: folder(), clock: new FakeClock(1000), serving });
  const facts = parseCertificate(pki.ca.cert);
  t.ok(facts.notBefore <= 1000);
  t.ok(facts.notAfter > Date.UTC(2035, 0, 1));
  t.ok(parseCertificate(pki.serving().cert).notAfter > Date.UTC(2026, 11, 1));
});

t.test("openPki() survives damage of leaves, refuses a damaged authority, takes one brought along", async (t) => {
  const dir = folder();
  const clock = new FakeClock();
  const pki = openPki({ dir, clock, serving });
  const good = pki.adminClient();
  writeFileSync(join(dir, "admin.pem"), readFileSync(join(dir, "admin.pem"), "utf8").slice(0, 300));
  t.not(pki.adminClient().cert, good.cert);
  writeFileSync(join(dir, "ca.pem"), "half");
  t.throws(() => openPki({ dir, clock, serving }), { code: "invalid", message: /ca\.pem/ });
  const other = folder();
  openPki({ dir: other, clock, serving });
  rmSync(join(other, "ca.pem"));
  const own = createAuthority({ commonName: "corp", notBefore: clock.now(), notAfter: clock.now() + 9999 * day });
  writeFileSync(join(other, "ca.crt"), own.cert);
  writeFileSync(join(other, "ca.key"), own.key);
  const taken = openPki({ dir: other, clock, serving });
  t.equal(parseCertificate(taken.ca.cert).commonName, "corp");
  t.ok(new X509Certificate(taken.serving().cert).verify(new X509Certificate(own.cert).publicKey));
});

const hasKubectl = spawnSync("kubectl", ["version", "--client"]).status === 0;
t.test("writeAdminKubeconfig() writes what kubectl reads", { skip: !hasKubectl && "no kubectl here" }, async (t) => {
  const dir = folder();
  const pki = openPki({ dir, clock: new FakeClock(), serving });
  const path = join(dir, "admin.kubeconfig");
  pki.writeAdminKubeconfig(path, "https://127.0.0.1:6443");
  t.notOk(existsSync(`${path}.new`));
  const kubectl = execFileSync("kubectl", ["--kubeconfig", path, "config", "view", "--raw", "-o", "json"], {
    encoding: "utf8",
  });
  const config = JSON.parse(kubectl);
  t.equal(config.clusters[0].cluster.server, "https://127.0.0.1:6443");
  t.equal(Buffer.from(config.users[0].user["client-certificate-data"], "base64").toString(), pki.adminClient().cert);
});

t.test("kills at any moment leave one cluster, whole", async (t) => {
  const dir = folder();
  const [command, ...args] = selfCommand(fileURLToPath(new URL("../../test/fixtures/pki-loop.ts", import.meta.url)), [
    dir,
  ]);
  let authority: string | undefined;
  for (let round = 0; round < 6; round++) {
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
    const ended = new Promise((resolve) => child.once("exit", resolve));
    await new Promise((resolve) => child.stdout.once("data", resolve));
    for (let turn = 0; turn < round * 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    child.kill("SIGKILL");
    await ended;
    const pki = openPki({ dir, clock: systemClock, serving });
    authority ??= pki.ca.cert;
    t.equal(pki.ca.cert, authority, "the same authority");
    t.ok(new X509Certificate(pki.serving().cert).verify(new X509Certificate(authority).publicKey));
    const kubeconfig = readFileSync(join(dir, "admin.kubeconfig"), "utf8");
    t.match(kubeconfig, /^apiVersion: v1\n[\s\S]*current-context: "skiff"\n$/);
    t.notOk(
      readdirSync(dir).some((name) => name.endsWith(".new")),
      "nothing half-written",
    );
  }
});
