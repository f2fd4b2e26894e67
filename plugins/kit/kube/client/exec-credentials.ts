// Credentials that a program hands out (client.authentication.k8s.io ExecCredential), kept until they expire.

import { dirname, resolve } from "node:path";
import type { Call } from "../../base/call.ts";
import { Fault, isFault } from "../../base/fault.ts";
import { run } from "../../os/platform/process.ts";
import type { Credentials, CredentialSource } from "./credentials.ts";
import { type ClusterEntry, type ExecEntry, fileOrData, type Place } from "./kubeconfig-entries.ts";

interface ExecCredential {
  kind?: string;
  status?: {
    token?: string;
    clientCertificateData?: string;
    clientKeyData?: string;
    expirationTimestamp?: string;
  };
}

const known = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];
const timeoutMs = 60_000;
// Not used up to the last moment: the request takes a while, and clocks differ.
const marginMs = 10_000;

export class ExecCredentials implements CredentialSource {
  readonly canChange = true;
  readonly #exec: ExecEntry;
  readonly #cluster: ClusterEntry;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #place: Place;
  #known: { credentials: Credentials; until: number } | undefined;
  #asking: Promise<Credentials> | undefined;

  constructor(exec: ExecEntry, cluster: ClusterEntry, headers: Readonly<Record<string, string>>, place: Place) {
    this.#exec = exec;
    this.#cluster = cluster;
    this.#headers = headers;
    this.#place = place;
    if (!exec.command) throw new Fault("invalid", `Cannot use ${place.path}: its exec plugin names no command`);
    if (!known.includes(exec.apiVersion ?? ""))
      throw new Fault(
        "invalid",
        `Cannot use ${place.path}: its exec plugin's apiVersion must be one of ${known.join(", ")}`,
      );
  }

  async current(call: Call): Promise<Credentials> {
    if (this.#known && this.#place.clock.now() < this.#known.until) return this.#known.credentials;
    // Requests that come meanwhile wait for the same answer.
    this.#asking ??= this.#ask(call).finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  refused(): void {
    this.#known = undefined;
  }

  async #ask(call: Call): Promise<Credentials> {
    const { command = "", args } = this.#exec;
    const program = command.includes("/") ? resolve(dirname(this.#place.path), command) : command;
    const status = parse(await this.#run(program, args ?? [], call), program);
    const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = status;
    if (!token && !(cert && key))
      throw new Fault(
        "unauthorized",
        `Credential plugin ${program} gave neither a token nor a certificate with its key`,
      );
    const until = expirationTimestamp ? Date.parse(expirationTimestamp) - marginMs : Infinity;
    const credentials = {
      cert,
      key,
      headers: { ...this.#headers, ...(token ? { authorization: `Bearer ${token}` } : {}) },
    };
    this.#known = { credentials, until };
    return credentials;
  }

  async #run(program: string, args: readonly string[], call: Call): Promise<string> {
    const { installHint } = this.#exec;
    try {
      const result = await run(
        program,
        args,
        { env: this.#environment(), timeoutMs, maxOutputBytes: 1024 * 1024 },
        call,
      );
      if (result.code === 0) return result.stdout;
      const said = result.stderr.trim().slice(-300);
      throw new Fault(
        "unauthorized",
        `Credential plugin ${program} ended with code ${result.code}${said ? `: ${said}` : ""}`,
      );
    } catch (error) {
      if (!isFault(error, "not-found")) throw error;
      const hint = installHint ? `; ${installHint.trim()}` : "";
      throw new Fault("unauthorized", `Cannot run credential plugin ${program}: there is no such program${hint}`, {
        cause: error,
      });
    }
  }

  #environment(): Record<string, string> {
    const own = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const wanted = (this.#exec.env ?? []).map(({ name, value }): [string, string] => [name, value]);
    const info = {
      kind: "ExecCredential",
      apiVersion: this.#exec.apiVersion,
      spec: { interactive: false, ...(this.#exec.provideClusterInfo ? { cluster: this.#clusterInfo() } : {}) },
    };
    return { ...Object.fromEntries([...own, ...wanted]), KUBERNETES_EXEC_INFO: JSON.stringify(info) };
  }

  #clusterInfo(): Record<string, unknown> {
    const ca = fileOrData(this.#cluster, "certificate-authority", this.#place);
    return {
      server: this.#cluster.server,
      "tls-server-name": this.#cluster["tls-server-name"],
      "insecure-skip-tls-verify": this.#cluster["insecure-skip-tls-verify"],
      ...(ca ? { "certificate-authority-data": Buffer.from(ca).toString("base64") } : {}),
    };
  }
}

function parse(text: string, program: string): NonNullable<ExecCredential["status"]> {
  let credential: ExecCredential | null;
  try {
    credential = JSON.parse(text) as ExecCredential | null;
  } catch (error) {
    throw new Fault("unauthorized", `Credential plugin ${program} did not answer in JSON`, { cause: error });
  }
  if (credential?.kind !== "ExecCredential" || !credential.status)
    throw new Fault(
      "unauthorized",
      `Credential plugin ${program} did not answer with an ExecCredential that has a status`,
    );
  return credential.status;
}
