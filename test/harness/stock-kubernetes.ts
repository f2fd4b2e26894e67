// The control plane of Kubernetes itself for tests: kube-apiserver, kube-controller-manager and kube-scheduler from PATH on an etcd of their
// own, on random ports of loopback; everything is gone with the test.

import { execFile, execFileSync, spawn } from "node:child_process";
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { CertificateAndKey } from "../../plugins/kit/os/x509.ts";
import { writeYaml } from "../../plugins/kit/base/yaml.ts";
import { testPki } from "./certificates.ts";
import { noEtcd, type Owner, startEtcd } from "./etcd.ts";
import { freeOctet, freePort } from "./skiff.ts";
import { until } from "./until.ts";

/** Why these programs cannot be run here, or false: fits `{ skip }`. */
export function without(...programs: string[]): string | false {
  const missing = programs.filter((program) => {
    try {
      execFileSync("sh", ["-c", `command -v ${program}`], { stdio: "ignore" });
      return false;
    } catch {
      return true;
    }
  });
  return missing.length > 0 && `needs ${missing.join(" and ")} on PATH`;
}

export const noStockKubernetes: string | false =
  noEtcd || without("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl");

export interface StockKubernetes {
  readonly clusterCidr: string;
  readonly serviceCidr: string;
  /** The file of the authority that has signed everybody. */
  readonly ca: string;
  /** The administrator's kubeconfig. */
  readonly kubeconfig: string;
  /** Of its three programs, and of etcd. */
  readonly pids: readonly number[];
  /** A kubeconfig for whoever it names. */
  kubeconfigFor(commonName: string, organizations?: readonly string[]): string;
  kubectl(...args: string[]): Promise<string>;
  apply(...objects: object[]): Promise<void>;
}

export async function startStockKubernetes(t: Owner): Promise<StockKubernetes> {
  const dir = mkdtempSync(join(tmpdir(), "skiff-stock-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const pki = testPki("kubernetes");
  const write = (name: string, text: string) => {
    writeFileSync(join(dir, name), text, { mode: 0o600 });
    return join(dir, name);
  };
  const ca = write("ca.crt", pki.ca.cert);
  const caKey = write("ca.key", pki.ca.key);
  const pairOf = (name: string, { cert, key }: CertificateAndKey) => ({
    cert: write(`${name}.crt`, cert),
    key: write(`${name}.key`, key),
  });
  const server = pairOf("server", pki.server);
  const kubelets = pairOf("kubelets", pki.client("kube-apiserver-kubelet-client", ["system:masters"]));
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const accountKey = write("accounts.key", privateKey.export({ type: "pkcs8", format: "pem" }).toString());
  const accounts = write(
    "accounts.pub",
    createPublicKey(privateKey).export({ type: "spki", format: "pem" }).toString(),
  );
  const [port, managerPort, schedulerPort] = [await freePort(), await freePort(), await freePort()];
  const octet = freeOctet();
  const [clusterCidr, serviceCidr] = [`10.${octet}.0.0/17`, `10.${octet}.128.0/17`];
  const kubeconfigFor = (commonName: string, organizations: readonly string[] = []) => {
    const name = commonName.replaceAll(":", "-");
    const { cert, key } = pairOf(name, pki.client(commonName, organizations));
    const cluster = { server: `https://127.0.0.1:${port}`, "certificate-authority": ca };
    return write(
      `${name}.kubeconfig`,
      writeYaml({
        apiVersion: "v1",
        kind: "Config",
        clusters: [{ name: "c", cluster }],
        users: [{ name: "u", user: { "client-certificate": cert, "client-key": key } }],
        contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
        "current-context": "x",
      }),
    );
  };
  const pids: number[] = [];
  const start = (program: string, flags: Record<string, string | number>) => {
    const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
    const child = spawn(program, args, { stdio: "ignore" });
    pids.push(child.pid ?? 0);
    const ended = new Promise((resolve) => child.once("exit", resolve));
    t.teardown(async () => {
      child.kill("SIGKILL");
      await ended;
    });
  };
  const [etcd] = await startEtcd(t);
  pids.push(etcd?.pid ?? 0);
  start("kube-apiserver", {
    "etcd-servers": etcd?.url ?? "",
    "secure-port": port,
    "bind-address": "127.0.0.1",
    "client-ca-file": ca,
    "tls-cert-file": server.cert,
    "tls-private-key-file": server.key,
    "service-account-key-file": accounts,
    "service-account-signing-key-file": accountKey,
    "service-account-issuer": "https://kubernetes.default.svc",
    "service-cluster-ip-range": serviceCidr,
    "authorization-mode": "Node,RBAC",
    "enable-admission-plugins": "NodeRestriction",
    "kubelet-client-certificate": kubelets.cert,
    "kubelet-client-key": kubelets.key,
    "kubelet-certificate-authority": ca,
    "kubelet-preferred-address-types": "InternalIP",
    "allow-privileged": "true",
  });
  const admin = kubeconfigFor("admin", ["system:masters"]);
  const kubectl = async (args: readonly string[], input = "") => {
    const running = promisify(execFile)("kubectl", ["--kubeconfig", admin, ...args], { maxBuffer: 64 << 20 });
    running.child.stdin?.end(input);
    return (await running).stdout;
  };
  const isReady = async () => (await kubectl(["get", "--raw", "/readyz"]).catch(() => "")) === "ok";
  await until("the API server to be ready", isReady, 120_000);
  start("kube-controller-manager", {
    kubeconfig: kubeconfigFor("system:kube-controller-manager"),
    "secure-port": managerPort,
    "use-service-account-credentials": "true",
    "service-account-private-key-file": accountKey,
    "root-ca-file": ca,
    "cluster-signing-cert-file": ca,
    "cluster-signing-key-file": caKey,
    "allocate-node-cidrs": "true",
    "cluster-cidr": clusterCidr,
    "leader-elect": "false",
    // It makes the folder, which would be the machine's.
    "flex-volume-plugin-dir": join(dir, "volume-plugins"),
  });
  start("kube-scheduler", {
    kubeconfig: kubeconfigFor("system:kube-scheduler"),
    "secure-port": schedulerPort,
    "leader-elect": "false",
  });
  return {
    clusterCidr,
    serviceCidr,
    ca,
    kubeconfig: admin,
    pids,
    kubeconfigFor,
    kubectl: (...args) => kubectl(args),
    async apply(...objects) {
      await kubectl(["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
    },
  };
}
