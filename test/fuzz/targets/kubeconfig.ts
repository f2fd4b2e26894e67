import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { uninterrupted } from "../../../plugins/kit/base/call.ts";
import { loadKubeconfig } from "../../../plugins/kit/kube/client/kubeconfig.ts";
import { check, refusal, type Target } from "../target.ts";

let folder: string;

const file = (cluster: string, user: string, context = "{cluster: c, user: u}") =>
  `current-context: x\nclusters:\n- name: c\n  cluster: ${cluster}\nusers:\n- name: u\n  user: ${user}\ncontexts:\n- name: x\n  context: ${context}\n`;

export const kubeconfig: Target = {
  name: "kubeconfig",
  corpus: [
    file("{server: 'https://127.0.0.1:6443', certificate-authority-data: Q0E=}", "{token: t}"),
    file(
      "{server: 127.0.0.1}",
      "{username: a, password: b, as: c, as-groups: [d]}",
      "{cluster: c, user: u, namespace: n}",
    ),
    file(
      "{server: 'https://a', insecure-skip-tls-verify: true}",
      "{client-certificate-data: QQ==, client-key-data: QQ==}",
    ),
    file(
      "{server: 'https://a', tls-server-name: b}",
      "{exec: {apiVersion: client.authentication.k8s.io/v1, command: 'true'}}",
    ),
    '{"current-context":"x","contexts":[{"name":"x"}]}',
    "clusters: 5\ncontexts: [null]\ncurrent-context: {}\n",
  ],
  words: [
    "clusters:",
    "users:",
    "contexts:",
    "current-context: ",
    "name: ",
    "\n- ",
    "\n  ",
    "{",
    "}",
    "[",
    "]",
    "5",
    "null",
    "token: ",
    "as-groups: ",
    "exec: ",
  ],
  shortRuns: 200,
  async open() {
    folder = mkdtempSync(join(tmpdir(), "skiff-fuzz-kubeconfig-"));
  },
  async run(input) {
    const path = join(folder, "config");
    writeFileSync(path, input);
    try {
      const loaded = await loadKubeconfig(path);
      check(URL.canParse(loaded.server), `the server ${loaded.server} is no address`);
      check(typeof loaded.namespace === "string", "the namespace is no text");
      // Programs that a file names are not started here.
      const proof = input.includes("command") ? undefined : await loaded.proof(uninterrupted);
      for (const value of Object.values(proof?.headers ?? {})) check(typeof value === "string", "a header is no text");
      loaded.close();
      return Object.keys(proof?.headers ?? {}).join();
    } catch (error) {
      return refusal(error);
    }
  },
  async close() {
    rmSync(folder, { recursive: true, force: true });
  },
};
