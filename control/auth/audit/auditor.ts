// Records requests as audit.k8s.io/v1 events, as much of each as the policy asks for.

import { randomUUID } from "node:crypto";
import type { UserInfo } from "../../../plugins/kit/kube/user-info.ts";
import type { Clock } from "../../../plugins/kit/base/clock.ts";
import type { Answer } from "../../machinery/answer.ts";
import type { ApiRequest } from "../../machinery/request.ts";
import type { Attributes } from "../../machinery/attributes.ts";
import { userInfoOf } from "../reviews.ts";
import type { Auditor, AuditTrail } from "./contract.ts";
import { type AuditPolicy, noRecording, recordingOf, refusalRecording, type Stage } from "./policy.ts";
import { RefusalBudget } from "./refusal-budget.ts";

export interface AuditorOptions {
  readonly policy: AuditPolicy;
  readonly clock: Clock;
  write(event: object): void;
}

export function createAuditor(options: AuditorOptions): Auditor {
  const { refusals } = options.policy;
  const budget = refusals && new RefusalBudget(refusals, options.clock);
  return { begin: (request) => new Trail(request, options, budget) };
}

const nobody: UserInfo = { name: "", groups: [] };

const longestAnnotation = 10_240;

class Trail implements AuditTrail {
  readonly #request: ApiRequest;
  readonly #options: AuditorOptions;
  readonly #receivedAt: number;
  readonly #annotations: Record<string, string> = {};
  #id = "";
  #recording = noRecording;
  #facts: Record<string, unknown> = {};
  #requestBody: Uint8Array | undefined;
  readonly #budget: RefusalBudget | undefined;
  #asked: { readonly attributes: Attributes; readonly real: UserInfo } | undefined;

  constructor(request: ApiRequest, options: AuditorOptions, budget: RefusalBudget | undefined) {
    this.#request = request;
    this.#options = options;
    this.#budget = budget;
    this.#receivedAt = options.clock.now();
  }

  identify(attributes: Attributes, real: UserInfo): ApiRequest {
    this.#asked = { attributes, real };
    // By the real user, as upstream: who may impersonate must not choose a user whose requests are not recorded.
    this.#recording = recordingOf(
      this.#options.policy,
      attributes.user === real ? attributes : { ...attributes, user: real },
    );
    const { level } = this.#recording;
    if (level === "None") return this.#request;
    this.#note(attributes, real);
    this.#emit("RequestReceived", {});
    return level === "Metadata" ? this.#request : withBody(this.#request, (look) => this.#readBody(look));
  }

  unauthenticated(asked: Omit<Attributes, "user">): void {
    const attributes = { ...asked, user: nobody };
    this.#asked = { attributes, real: nobody };
    if (this.#budget) return;
    this.#recording = recordingOf(this.#options.policy, attributes);
    if (this.#recording.level === "None") return;
    this.#note(attributes, nobody);
    this.#emit("RequestReceived", {});
  }

  #note(attributes: Attributes, real: UserInfo): void {
    const request = this.#request;
    // A client may bring its own id, to find its request again.
    const brought = request.headers.get("audit-id");
    this.#id = brought && /^[\w-]{1,64}$/.test(brought) ? brought : randomUUID();
    const query = request.query.toString();
    const userAgent = request.headers.get("user-agent");
    this.#facts = {
      requestURI: query === "" ? request.path : `${request.path}?${query}`,
      verb: attributes.verb,
      ...(real === nobody ? {} : { user: userInfoOf(real) }),
      ...(attributes.user === real ? {} : { impersonatedUser: userInfoOf(attributes.user) }),
      sourceIPs: [request.peer.address || "127.0.0.1"],
      ...(userAgent ? { userAgent } : {}),
      ...(attributes.resource ? { objectRef: objectRefOf(attributes.resource) } : {}),
    };
  }

  async #readBody(look?: (part: Uint8Array) => void): Promise<Uint8Array> {
    const body = await this.#request.body(look);
    this.#requestBody = body;
    return body;
  }

  annotate(key: string, value: string): void {
    // The first to say something under a key is right, as upstream has it.
    if (!Object.hasOwn(this.#annotations, key)) this.#annotations[key] = value.slice(0, longestAnnotation);
  }

  complete(answer: Answer): Answer {
    if (this.#recording.level === "None" && !this.#isRecordedRefusal(answer.status)) return answer;
    const answered = { ...answer, headers: { ...answer.headers, "audit-id": this.#id } };
    const isUnknown = this.#asked?.real === nobody;
    const responseStatus = { ...statusOf(answer), ...(isUnknown ? { message: this.#attempted() } : {}) };
    const { body } = answer;
    if (typeof body === "function") {
      this.#emit("ResponseStarted", { responseStatus });
      answered.body = (sink) => {
        sink.onClose(() => this.#emit("ResponseComplete", { responseStatus }));
        body(sink);
      };
      return answered;
    }
    const responseObject = this.#recording.level === "RequestResponse" ? this.#objectIn(body) : undefined;
    this.#emit("ResponseComplete", { responseStatus, ...(responseObject ? { responseObject } : {}) });
    return answered;
  }

  /** Whether to record a refusal that the rules leave out. */
  #isRecordedRefusal(status: number): boolean {
    if (!this.#asked || !this.#budget || (status !== 401 && status !== 403)) return false;
    const unrecorded = this.#budget.take();
    if (unrecorded === undefined) return false;
    if (unrecorded > 0) this.annotate("skiff.dev/refusals-not-recorded", String(unrecorded));
    this.#recording = refusalRecording;
    this.#note(this.#asked.attributes, this.#asked.real);
    return true;
  }

  /** As upstream: which kinds of credentials did not do, never what they were. */
  #attempted(): string {
    const { headers, peer } = this.#request;
    const methods = [
      ...(/^basic\s/i.test(headers.get("authorization") ?? "") ? ["basic"] : []),
      ...(/^bearer\s/i.test(headers.get("authorization") ?? "") ? ["bearer"] : []),
      ...(peer.certificate ? ["x509"] : []),
    ];
    if (methods.length === 0) return "Authentication failed, no credentials provided";
    return `Authentication failed, attempted: ${methods.join(", ")}`;
  }

  #emit(stage: Stage, more: Record<string, unknown>): void {
    const { level, omitStages } = this.#recording;
    if (omitStages.has(stage)) return;
    const requestObject = stage === "RequestReceived" ? undefined : this.#objectIn(this.#requestBody);
    this.#options.write({
      kind: "Event",
      apiVersion: "audit.k8s.io/v1",
      level,
      auditID: this.#id,
      stage,
      ...this.#facts,
      ...(requestObject ? { requestObject } : {}),
      ...more,
      requestReceivedTimestamp: microTime(this.#receivedAt),
      stageTimestamp: microTime(this.#options.clock.now()),
      ...(Object.keys(this.#annotations).length > 0 && stage !== "RequestReceived"
        ? { annotations: this.#annotations }
        : {}),
    });
  }

  /** The JSON in a body, if it is JSON; YAML and protobuf are left out. */
  #objectIn(body: unknown): unknown {
    if (!(body instanceof Uint8Array) && typeof body !== "string") return undefined;
    try {
      const value = JSON.parse(typeof body === "string" ? body : Buffer.from(body).toString("utf8")) as unknown;
      if (this.#recording.omitManagedFields) dropManagedFields(value);
      return value;
    } catch {
      // Not JSON: the metadata of the request is recorded all the same.
      return undefined;
    }
  }
}

/** The same request with its body read by another. */
function withBody(request: ApiRequest, body: ApiRequest["body"]): ApiRequest {
  const { method, path, query, headers, peer, user } = request;
  return {
    method,
    path,
    query,
    headers,
    get signal() {
      return request.signal;
    },
    peer,
    ...(user ? { user } : {}),
    body,
    stream: () => request.stream(),
  };
}

function objectRefOf({
  group,
  version,
  plural,
  namespace,
  name,
  subresource,
}: NonNullable<Attributes["resource"]>): object {
  return {
    resource: plural,
    ...(namespace ? { namespace } : {}),
    ...(name ? { name } : {}),
    ...(group ? { apiGroup: group } : {}),
    apiVersion: version,
    ...(subresource ? { subresource } : {}),
  };
}

function statusOf({ status: code, body }: Answer): object {
  if (code < 400 || (typeof body !== "string" && !(body instanceof Uint8Array))) return { metadata: {}, code };
  try {
    const { status, message, reason } = JSON.parse(
      typeof body === "string" ? body : Buffer.from(body).toString("utf8"),
    ) as Record<string, unknown>;
    return {
      metadata: {},
      ...(status ? { status } : {}),
      ...(message ? { message } : {}),
      ...(reason ? { reason } : {}),
      code,
    };
  } catch {
    // A refusal in plain text says enough by its code.
    return { metadata: {}, code };
  }
}

function dropManagedFields(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  const { metadata, items } = value as { metadata?: { managedFields?: unknown }; items?: unknown };
  if (metadata) delete metadata.managedFields;
  if (Array.isArray(items)) for (const item of items) dropManagedFields(item);
}

const microTime = (ms: number) => new Date(ms).toISOString().replace("Z", "000Z");
