// Makes an image present before a container starts, by its pull policy. Never more than one pull of the same image at a time: whoever else
// wants it waits for that one, and pulls after it with credentials of its own where these are others. Failed pulls back off per pod and image.

import type { ImageService } from "../../cri/api/contract.ts";
import type { PullProgress } from "../../cri/api/pull-board.ts";
import {
  AuthConfig,
  type Image,
  ImageSpec,
  ImageStatusRequest,
  type PodSandboxConfig,
  PullImageRequest,
} from "../../cri/api/gen/runtime.js";
import { type Call, uninterrupted } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault, isFault } from "../../plugins/kit/base/fault.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { Container, Secret } from "../../plugins/kit/kube/objects/types.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import { BackOff, formatDuration } from "../model/back-off.ts";
import { about, type Recorder } from "../model/recorder.ts";
import { StartFailure } from "../model/start-failure.ts";
import { type Credential, credentialsOf, matching } from "./credentials.ts";
import { progressWords, pullOf, tellWhile } from "./pull-news.ts";
import { defaultPullPolicy, type ImageReference, parseImage } from "../model/image-reference.ts";

/** Credentials for an image from somewhere else than the pod, such as a provider plugin. */
export interface CredentialSource {
  credentials(image: ImageReference, call: Call): Promise<readonly Credential[]>;
}

export interface ImageManagerOptions {
  readonly image: ImageService;
  readonly clock: Clock;
  readonly recorder: Recorder;
  /** The pod's pull secrets; missing ones are left out. */
  readonly pullSecrets: (pod: AgentPod, call: Call) => Promise<readonly Secret[]>;
  readonly sources: readonly CredentialSource[];
  /** How many images are pulled at the same time; 1 is serial. */
  readonly parallelPulls: number;
  /** Those under way, where the runtime tells. */
  readonly pulls: () => readonly PullProgress[];
  readonly log: Log;
}

export interface PresentImage {
  readonly ref: string;
  readonly uid?: bigint;
  readonly username: string;
}

/** How long an image that was put there by other means than a pull may go unnoticed. */
const lookAgainMs = 60_000;
/** A pull of more than a second is worth a line; every event is a write to the API. */
const logBeat = { firstMs: 1000, mostMs: 30_000 };
const eventBeat = { firstMs: 15_000, mostMs: 300_000 };

export class ImageManager {
  readonly #options: ImageManagerOptions;
  readonly #backOff = new BackOff();
  readonly #lastFailure = new Map<string, { at: number; message: string }>();
  /** By image, with the credentials that it is pulled by. */
  readonly #pulls = new Map<string, { by: string; pull: Promise<number> }>();
  readonly #line: (() => void)[] = [];
  #pulling = 0;

  constructor(options: ImageManagerOptions) {
    this.#options = options;
  }

  /** Resolves when the image is there. Throws a StartFailure with upstream's reason; the caller retries. */
  async ensure(
    pod: AgentPod,
    container: Container,
    sandbox: PodSandboxConfig | undefined,
    call: Call,
  ): Promise<PresentImage> {
    try {
      return await this.#ensure(pod, container, sandbox, call);
    } catch (error) {
      if (error instanceof StartFailure && !call.signal.aborted) {
        const where = about(pod, container.name);
        this.#options.recorder.event(pod, "Warning", "Failed", `Error: ${error.reason}`, where);
      }
      throw error;
    }
  }

  async #ensure(
    pod: AgentPod,
    container: Container,
    sandbox: PodSandboxConfig | undefined,
    call: Call,
  ): Promise<PresentImage> {
    const asked = container.image ?? "";
    const warn = (reason: string, message: string) => {
      this.#options.recorder.event(pod, "Warning", reason, message, about(pod, container.name));
    };
    let reference: ImageReference;
    try {
      reference = parseImage(asked);
    } catch (error) {
      const message = `Failed to apply default image tag "${asked}": ${(error as Error).message}`;
      warn("InspectFailed", message);
      throw new StartFailure("InvalidImageName", message, error);
    }
    const policy = container.imagePullPolicy ?? defaultPullPolicy(asked);
    const present = await this.#status(reference.name, call).catch((error: unknown) => {
      const message = `Failed to inspect image "${reference.name}": ${(error as Error).message}`;
      warn("InspectFailed", message);
      throw new StartFailure("ImageInspectError", message, error);
    });
    if (present && policy !== "Always") {
      const text = `Container image "${asked}" already present on machine`;
      this.#options.recorder.event(pod, "Normal", "Pulled", text, about(pod, container.name));
      return presentOf(present, reference.name);
    }
    if (policy === "Never") {
      const message = `Container image "${asked}" is not present with pull policy of Never`;
      warn("ErrImageNeverPull", message);
      throw new StartFailure("ErrImageNeverPull", message);
    }
    return this.#pullWithBackOff(pod, container, reference, sandbox, call);
  }

  /** The pod is gone: its back-offs are too. */
  forget(podUid: string): void {
    this.#backOff.forget(`${podUid}_`);
    for (const key of this.#lastFailure.keys()) if (key.startsWith(`${podUid}_`)) this.#lastFailure.delete(key);
  }

  async #pullWithBackOff(
    pod: AgentPod,
    container: Container,
    reference: ImageReference,
    sandbox: PodSandboxConfig | undefined,
    call: Call,
  ): Promise<PresentImage> {
    const { recorder, clock } = this.#options;
    const asked = container.image ?? "";
    const where = about(pod, container.name);
    const key = `${pod.metadata.uid}_${reference.name}`;
    const last = this.#lastFailure.get(key);
    const remainingMs = last ? this.#backOff.remaining(key, last.at, clock.now()) : 0;
    if (last && remainingMs > 0) {
      const message = `Back-off pulling image "${asked}"`;
      recorder.event(pod, "Normal", "BackOff", message, where);
      // Looked at before that too: somebody may put the image there by hand.
      const lookAgainAt = clock.now() + Math.min(remainingMs, lookAgainMs);
      throw new StartFailure("ImagePullBackOff", `${message}: ${last.message}`, undefined, lookAgainAt);
    }
    recorder.event(pod, "Normal", "Pulling", `Pulling image "${asked}"`, where);
    const startedAt = clock.monotonic();
    const tell = () => {
      const progress = this.#progress(reference.name);
      if (progress) recorder.event(pod, "Normal", "Pulling", `Pulling image "${asked}": ${progress}`, where);
    };
    let pulledMs: number;
    try {
      pulledMs = await tellWhile(this.#pullOnce(pod, reference, sandbox, call), eventBeat, clock, tell);
    } catch (error) {
      if (call.signal.aborted) throw error;
      const why = (error as Error).message;
      recorder.event(pod, "Warning", "Failed", `Failed to pull image "${asked}": ${why}`, where);
      const now = clock.now();
      this.#backOff.next(key, last?.at ?? now, now);
      const { reason, message } = pullFailure(asked, why);
      this.#lastFailure.set(key, { at: now, message: `${reason}: ${message}` });
      throw new StartFailure(reason, message, error, now + this.#backOff.delay(key));
    }
    this.#lastFailure.delete(key);
    this.#backOff.reset(key);
    const image = await this.#status(reference.name, call);
    const [took, waited] = [pulledMs, clock.monotonic() - startedAt].map((ms) => formatDuration(Math.round(ms)));
    const size = image ? ` Image size: ${image.size} bytes.` : "";
    recorder.event(
      pod,
      "Normal",
      "Pulled",
      `Successfully pulled image "${asked}" in ${took} (${waited} including waiting).${size}`,
      where,
    );
    return image ? presentOf(image, reference.name) : { ref: reference.name, username: "" };
  }

  /**
   * Joins a pull of the same image that is under way, and says how long it took. Giving up waiting does not end it: others may want it.
   * What others may pull is nothing to a pod that may not: one with other credentials must show that they are good.
   */
  async #pullOnce(
    pod: AgentPod,
    reference: ImageReference,
    sandbox: PodSandboxConfig | undefined,
    call: Call,
  ): Promise<number> {
    const credentials = await orAborted(this.#credentials(pod, reference), call);
    const by = JSON.stringify(credentials);
    for (;;) {
      const running = this.#pulls.get(reference.name);
      if (running?.by === by) return orAborted(running.pull, call);
      if (!running) break;
      await orAborted(
        running.pull.catch(() => {}),
        call,
      );
    }
    const pull = this.#pullInLine(reference, credentials, sandbox).finally(() => this.#pulls.delete(reference.name));
    this.#pulls.set(reference.name, { by, pull });
    return orAborted(pull, call);
  }

  async #pullInLine(
    reference: ImageReference,
    credentials: readonly Credential[],
    sandbox: PodSandboxConfig | undefined,
  ): Promise<number> {
    if (this.#pulling < this.#options.parallelPulls) this.#pulling++;
    else await new Promise<void>((go) => this.#line.push(go));
    try {
      return await this.#pullLogged(reference, credentials, sandbox);
    } finally {
      // Whoever waits takes over this place, so that nobody can slip in between.
      const next = this.#line.shift();
      if (next) next();
      else this.#pulling--;
    }
  }

  /** How long it took. */
  async #pullLogged(
    reference: ImageReference,
    credentials: readonly Credential[],
    sandbox: PodSandboxConfig | undefined,
  ): Promise<number> {
    const { clock, log } = this.#options;
    const { name: image } = reference;
    const startedAt = clock.monotonic();
    let wasTold = false;
    const tell = () => {
      wasTold = true;
      const progress = this.#progress(image);
      log.info({ image, ...(progress ? { progress } : {}) }, "pulling an image");
    };
    await tellWhile(this.#pull(reference, credentials, sandbox), logBeat, clock, tell);
    const tookMs = clock.monotonic() - startedAt;
    if (wasTold) log.info({ image, seconds: Math.round(tookMs / 1000) }, "pulled an image");
    return tookMs;
  }

  #progress(image: string): string {
    const pull = pullOf(this.#options.pulls(), image);
    return pull ? progressWords(pull) : "";
  }

  async #credentials(pod: AgentPod, reference: ImageReference): Promise<readonly Credential[]> {
    const secrets = await this.#options.pullSecrets(pod, uninterrupted);
    const found = matching(secrets.flatMap(credentialsOf), reference);
    for (const source of this.#options.sources) found.push(...(await source.credentials(reference, uninterrupted)));
    return found;
  }

  async #pull(
    reference: ImageReference,
    credentials: readonly Credential[],
    sandbox: PodSandboxConfig | undefined,
  ): Promise<void> {
    const attempts = credentials.length > 0 ? credentials : [undefined];
    const failures: unknown[] = [];
    for (const credential of attempts) {
      try {
        // No server address, as upstream: containerd takes one for a URL, and a host with a port is none.
        const auth = credential ? AuthConfig.create({ ...credential }) : undefined;
        const request = PullImageRequest.create({
          image: ImageSpec.create({ image: reference.name }),
          ...(auth ? { auth } : {}),
          ...(sandbox ? { sandboxConfig: sandbox } : {}),
        });
        await this.#options.image.pullImage(request, uninterrupted);
        return;
      } catch (error) {
        failures.push(error);
      }
    }
    const said = [...new Set(failures.map((error) => (error as Error).message))];
    if (said.length === 1) throw failures[0];
    throw new Fault("unavailable", `[${said.join(", ")}]`, { cause: failures[0] });
  }

  async #status(name: string, call: Call): Promise<Image | undefined> {
    const request = ImageStatusRequest.create({ image: ImageSpec.create({ image: name }) });
    try {
      return (await this.#options.image.imageStatus(request, call)).image;
    } catch (error) {
      if (isFault(error, "not-found")) return undefined;
      throw error;
    }
  }
}

const namedFailures: Readonly<Record<string, string>> = {
  RegistryUnavailable: "the registry is unavailable",
  SignatureValidationFailed: "the signature validation failed",
};

/** Runtimes name some failures by the beginning of what they say. */
function pullFailure(image: string, why: string): { readonly reason: string; readonly message: string } {
  const reason = Object.keys(namedFailures).find((name) => why.startsWith(name));
  if (!reason) return { reason: "ErrImagePull", message: why };
  const message = `image pull failed for ${image} because ${namedFailures[reason]}${why.slice(reason.length)}`;
  return { reason, message };
}

function presentOf(image: Image, name: string): PresentImage {
  return {
    ref: image.id || name,
    username: image.username,
    ...(image.uid ? { uid: image.uid.value } : {}),
  };
}

function orAborted<T>(promise: Promise<T>, call: Call): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(call.signal.reason);
    if (call.signal.aborted) return onAbort();
    call.signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => call.signal.removeEventListener("abort", onAbort));
  });
}
