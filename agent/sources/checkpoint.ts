// What the node remembers for a boot without an API server: the pods it was told to run and the objects they refer to. Encrypted at rest with
// a key that only root of this node can read, written whole and only when something changed, so that an SD card is spared.

import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { mkdir, open, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import { isTokenOf, tokenKind } from "./kept-tokens.ts";

export interface Remembered {
  readonly pods: readonly AgentPod[];
  readonly objects: readonly KubeObject[];
  /** What a manifest URL had when it was last read. */
  readonly manifest?: { readonly url: string; readonly pods: readonly AgentPod[] };
}

// Changes come in bursts; the last one counts.
const settleMs = 2_000;
const magic = Buffer.from("SKIFFCP1");

export class Checkpoint {
  readonly #path: string;
  readonly #keyPath: string;
  readonly #clock: Clock;
  readonly #log: Log;
  #written = "";
  #wake: () => void = () => {};
  #isDue = false;

  constructor(options: { dir: string; clock: Clock; log: Log }) {
    this.#path = join(options.dir, "checkpoint");
    this.#keyPath = join(options.dir, "checkpoint.key");
    this.#clock = options.clock;
    this.#log = options.log;
  }

  /** What was remembered; nothing when there is no checkpoint or it cannot be read. */
  async load(): Promise<Remembered> {
    try {
      const bytes = await readFile(this.#path);
      const key = await readFile(this.#keyPath);
      if (!bytes.subarray(0, magic.length).equals(magic)) throw new Error("it is not a checkpoint");
      const body = bytes.subarray(magic.length);
      const decipher = createDecipheriv("aes-256-gcm", key, body.subarray(0, 12));
      decipher.setAuthTag(body.subarray(12, 28));
      const text = Buffer.concat([decipher.update(body.subarray(28)), decipher.final()]).toString("utf8");
      this.#written = digest(text);
      return JSON.parse(text) as Remembered;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") {
        this.#log.warn({ path: this.#path, err: error }, "cannot read the checkpoint: starting without it");
      }
      return { pods: [], objects: [] };
    }
  }

  /** Something may have changed: it is written soon. */
  touch(): void {
    this.#isDue = true;
    this.#wake();
  }

  async run(collect: () => Remembered, call: Call): Promise<void> {
    while (!call.signal.aborted) {
      if (!this.#isDue) {
        await new Promise<void>((resolve) => {
          this.#wake = () => {
            call.signal.removeEventListener("abort", this.#wake);
            resolve();
          };
          call.signal.addEventListener("abort", this.#wake, { once: true });
        });
      }
      await this.#clock.sleep(settleMs, call).catch(() => {});
      if (!this.#isDue) continue;
      this.#isDue = false;
      try {
        await this.save(collect());
      } catch (error) {
        this.#log.warn({ path: this.#path, err: error }, "cannot write the checkpoint");
      }
    }
  }

  async save(remembered: Remembered): Promise<void> {
    const text = JSON.stringify(remembered);
    const hash = digest(text);
    if (hash === this.#written) return;
    const iv = randomBytes(12);
    const cipher = createCipheriv("aes-256-gcm", await this.#key(), iv);
    const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
    const temporary = `${this.#path}.new`;
    const file = await open(temporary, "w", 0o600);
    try {
      await file.writeFile(Buffer.concat([magic, iv, cipher.getAuthTag(), sealed]));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, this.#path);
    this.#written = hash;
  }

  async #key(): Promise<Buffer> {
    try {
      return await readFile(this.#keyPath);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      await mkdir(dirname(this.#keyPath), { recursive: true, mode: 0o700 });
      const key = randomBytes(32);
      await writeFile(this.#keyPath, key, { mode: 0o600, flag: "wx" });
      return key;
    }
  }
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** A pod without what changes all the time: only its end is worth remembering of its status. */
export function slim(pod: AgentPod): AgentPod {
  const { managedFields: _, resourceVersion: __, ...metadata } = pod.metadata;
  const phase = pod.status?.phase;
  const isOver = phase === "Succeeded" || phase === "Failed";
  const { status: ___, ...rest } = pod;
  return { ...rest, metadata: metadata as AgentPod["metadata"], ...(isOver ? { status: { phase } } : {}) };
}

/**
 * The objects that pods name, also through others: the volume behind a claim, the driver and the secrets of a volume, its attachment. A rough
 * look that errs on the side of keeping.
 */
export function referencedBy(pods: readonly AgentPod[], objects: readonly KubeObject[]): Set<KubeObject> {
  const texts = pods.map((pod) => ({ namespace: pod.metadata.namespace, text: textOf(pod) }));
  const isNamed = (object: KubeObject) => {
    const { kind, metadata, spec } = object;
    if (kind === tokenKind) return pods.some((pod) => isTokenOf(object, pod.metadata.uid));
    if (kind === "Service") return isTold(object, pods);
    const { signerName } = (spec ?? {}) as { signerName?: string };
    if (
      kind === "ClusterTrustBundle" &&
      signerName &&
      texts.some(({ text }) => text.includes(JSON.stringify(signerName)))
    )
      return true;
    // An attachment is named by nobody; it names its volume.
    if (kind === "VolumeAttachment") return [...found].some((object) => isVolumeOf(object, spec));
    const name = JSON.stringify(metadata.name ?? "");
    return texts.some(
      ({ namespace, text }) =>
        (!metadata.namespace || !namespace || namespace === metadata.namespace) && text.includes(name),
    );
  };
  const found = new Set<KubeObject>();
  for (let before = -1; before < found.size; ) {
    before = found.size;
    for (const object of objects) {
      if (found.has(object) || !isNamed(object)) continue;
      found.add(object);
      if (object.kind.startsWith("PersistentVolume"))
        texts.push({ namespace: "", text: JSON.stringify(object["spec"] ?? {}) });
    }
  }
  return found;
}

function textOf({ metadata, spec }: AgentPod): string {
  const ephemeral = (spec.volumes ?? [])
    .filter((volume) => volume.ephemeral)
    .map(({ name }) => `${metadata.name}-${name}`);
  return JSON.stringify([spec, ephemeral]);
}

/** Containers are told of the services beside them, and of the API server's. */
function isTold({ metadata }: KubeObject, pods: readonly AgentPod[]): boolean {
  if (metadata.namespace === "default" && metadata.name === "kubernetes") return pods.length > 0;
  return pods.some((pod) => pod.metadata.namespace === metadata.namespace && pod.spec.enableServiceLinks !== false);
}

function isVolumeOf(object: KubeObject, attachmentSpec: unknown): boolean {
  const { source } = (attachmentSpec ?? {}) as { source?: { persistentVolumeName?: string } };
  return object.kind === "PersistentVolume" && object.metadata.name === source?.persistentVolumeName;
}
