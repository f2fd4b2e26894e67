// The path of every request: who is it, may they, what do they want, and who answers.

import { wantedForm } from "./media-type.ts";
import type { UserInfo } from "../../plugins/kit/kube/user-info.ts";
import type { Call } from "../../plugins/kit/base/call.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { anonymousUser } from "../auth/anonymous.ts";
import type { Auditor, AuditTrail } from "../auth/audit/contract.ts";
import type { Authenticator } from "../auth/contract.ts";
import type { Attributes } from "../machinery/attributes.ts";
import { asksToImpersonate, impersonate } from "../auth/impersonation.ts";
import type { ResourceDefinition } from "../resources/definition.ts";
import { passToRemote } from "./aggregation/pass.ts";
import type { Remote } from "./aggregation/remote.ts";
import type { Remotes } from "./aggregation/remotes.ts";
import { addWarnings, type Answer, pageNotFound, statusAnswer } from "../machinery/answer.ts";
import { compressed } from "./compress.ts";
import { deadlineOf, withinDeadline } from "./deadline.ts";
import type { Flow } from "./flow/flow-control.ts";
import { heldAnswer, type Holding, reserve } from "./flow/held-answer.ts";
import { isDryRun } from "./options.ts";
import { parsePath, type ResourcePath } from "./path.ts";
import type { ApiRequest } from "../machinery/request.ts";
import { attributesOf, verbOf } from "./request-attributes.ts";
import type { RequestMeter } from "./request-metrics.ts";
import { requireAllowed } from "./require-allowed.ts";
import type { Scope, Services } from "./scope.ts";
import { methodNotAllowed, statusOf, unknownPath } from "../machinery/status.ts";
import { answerSubresource, requireNames } from "./subresources.ts";
import { Timing } from "./timing.ts";
import { answerVirtual } from "./virtual.ts";
import { createObject } from "./verbs/create.ts";
import { deleteObject } from "./verbs/delete.ts";
import { deleteCollection } from "./verbs/delete-collection.ts";
import { getObject } from "./verbs/get.ts";
import { listObjects } from "./verbs/list.ts";
import { patchObject } from "./verbs/patch.ts";
import { replaceObject } from "./verbs/update.ts";
import { watchObjects } from "./verbs/watch.ts";
import type { PathHandler } from "../machinery/path-handler.ts";

export interface Dispatcher {
  readonly services: Services;
  readonly authenticators: readonly Authenticator[];
  /** Groups and versions that other servers answer. */
  readonly remotes: Remotes;
  readonly paths: PathHandler;
  /** Resolves when all is served that any server was told to serve before. */
  catchUp(call: Call): Promise<void>;
  readonly audit?: Auditor | undefined;
}

export async function dispatch(dispatcher: Dispatcher, request: ApiRequest): Promise<Answer> {
  const trail = dispatcher.audit?.begin(request);
  const sorted: Sorted = { path: `${request.method} ${request.path}` };
  const made = await answerOrRefusal(dispatcher, request, trail, sorted);
  if (sorted.flow) Object.assign(made.headers, sorted.flow.headers);
  const { outbox } = dispatcher.services.flows;
  const held = heldAnswer(made, sorted, outbox, !isMutating(request.method));
  const complete = trail ? trail.complete(held) : held;
  const encoding = request.headers.get("accept-encoding");
  return encoding ? compressed(complete, encoding) : complete;
}

async function answerOrRefusal(
  dispatcher: Dispatcher,
  request: ApiRequest,
  trail: AuditTrail | undefined,
  sorted: Sorted,
): Promise<Answer> {
  try {
    return await answer(dispatcher, request, trail, sorted);
  } catch (error) {
    const status = statusOf(error);
    if (status.code === 500)
      dispatcher.services.log.error({ err: error, method: request.method, path: request.path }, "request failed");
    return statusAnswer(status);
  }
}

/** Which flow a request was sorted into, told on the answer whatever becomes of it. */
interface Sorted extends Holding {
  flow?: Flow | undefined;
}

async function answer(
  dispatcher: Dispatcher,
  asked: ApiRequest,
  trail: AuditTrail | undefined,
  sorted: Sorted,
): Promise<Answer> {
  const { services } = dispatcher;
  const call: Call = asked;
  const path = parsePath(asked.path);
  const { user, real } = await userOf(dispatcher, asked, call, trail);
  const attributes = attributesOf(user, asked, path);
  if (asked.user === undefined) sorted.user = user.name;
  if (!path) {
    const request = trail?.identify(attributes, real) ?? asked;
    sorted.flow = services.flows.flowOf(attributes);
    await requireAllowed(services, attributes, call, trail);
    // These are answered at once; a limit that makes no sense is refused all the same.
    deadlineOf(request.query.get("timeout"), services.deadlineMs);
    return inTurn(services, sorted, sorted.flow, call, async () => {
      const remote = remoteOf(dispatcher, request.path);
      const found = remote ? passToRemote(remote, request, user, call) : dispatcher.paths(request, user);
      if (!found) return pageNotFound();
      return found;
    });
  }
  const verb = verbOf(asked, path);
  const request = trail?.identify(attributes, real) ?? asked;
  const isLong = verb === "watch" || passedOn.has(path.subresource);
  if (verb === "watch" || !isLong) sorted.flow = services.flows.flowOf(attributes);
  await requireAllowed(services, attributes, call, trail);
  const flow = isLong ? undefined : sorted.flow;
  if (!path.isRoutable) throw unknownPath();
  const remote = dispatcher.remotes.find(path.group, path.version);
  if (remote) return inTurn(services, sorted, flow, call, () => passToRemote(remote, request, user, call));
  const definition = await definitionOf(dispatcher, path, call);
  if (!definition) {
    // Of a group that nobody serves there is no page; of one that is there the resource is missing.
    if (services.registry.versions(path.group).length === 0) return pageNotFound();
    throw unknownPath();
  }
  requireRoute(definition, path, request);
  const warnings = definition.deprecation === undefined ? [] : [definition.deprecation];
  const timing = new Timing(services.clock);
  const work = (bounded: Call) => {
    const scope: Scope = {
      services,
      request,
      user,
      definition,
      namespace: definition.namespaced ? path.namespace : "",
      name: path.name,
      subresource: path.subresource,
      call: bounded,
      warnings,
      timing,
      reserve: (bytes) => reserve(sorted, services.flows.outbox, bytes),
      dryRun: request.method === "GET" ? false : isDryRun(request.query, request.method),
      ...(trail ? { trail } : {}),
    };
    return inTurn(services, sorted, flow, bounded, async () => {
      if (flow) timing.takeTurn();
      // Whether the answer can be read is settled before there is one.
      if (path.subresource === "") wantedForm(request.headers.get("accept"));
      return path.subresource === "" ? answerVerb(verb, path, scope) : answerSubresource(verb, path, scope);
    });
  };
  // Callers in this process end their calls themselves; a client may have gone without a word.
  const isBounded = !isLong && request.user === undefined;
  const deadlineMs = isBounded ? deadlineOf(request.query.get("timeout"), services.deadlineMs) : 0;
  const meter = services.metrics.requests.meterOf(verb, path, request);
  const end = isLong ? () => {} : services.metrics.begin(isMutating(request.method));
  const made = await measured(meter, timing, () =>
    isBounded ? withinDeadline(services.clock, deadlineMs, call, work) : work(call),
  )
    .catch((error: unknown) => {
      // What is refused was warned of all the same.
      const status = warnings.length > 0 ? statusOf(error) : undefined;
      if (!status || status.code === 500) throw error;
      return statusAnswer(status);
    })
    .finally(end);
  return addWarnings(made, warnings);
}

/** A resource that is not known may have been defined by another server a moment ago. */
async function definitionOf(
  { services, catchUp }: Dispatcher,
  { group, version, plural }: ResourcePath,
  call: Call,
): Promise<ResourceDefinition | undefined> {
  const known = services.registry.find(group, version, plural);
  if (known) return known;
  await catchUp(call);
  return services.registry.find(group, version, plural);
}

/** Watches and connections are long and cost little once begun; they are not counted. */
const passedOn = new Set(["log", "exec", "attach", "portforward", "proxy"]);

/** Works when its level has room; the seat is given back when the answer is sent. */
async function inTurn(
  { flows }: Services,
  holding: Holding,
  flow: Flow | undefined,
  call: Call,
  work: () => Promise<Answer>,
): Promise<Answer> {
  if (!flow) return work();
  if (holding.user !== undefined) flows.outbox.admit(holding.user, holding.path);
  const leave = await flows.seats.enter(flow.level, flow.name, call);
  holding.leave = leave;
  try {
    return await work();
  } catch (error) {
    leave();
    throw error;
  } finally {
    if (holding.isAnswered) leave();
  }
}

/** Who else answers below `/apis/<group>/<version>`, what lies there being no resource. */
function remoteOf({ remotes }: Dispatcher, path: string): Remote | undefined {
  const [, root, group = "", version = ""] = path.split("/");
  return root === "apis" ? remotes.find(group, version) : undefined;
}

const isMutating = (method: string) => method !== "GET" && method !== "HEAD";

async function measured(meter: RequestMeter, timing: Timing, work: () => Promise<Answer>): Promise<Answer> {
  try {
    const made = await work();
    meter.record(made.status, timing.seconds, timing.elsewhereSeconds);
    return made;
  } catch (error) {
    meter.record(statusOf(error).code ?? 500, timing.seconds, timing.elsewhereSeconds);
    throw error;
  }
}

/** Authenticates and authorizes a request on a resource without answering it. */
export async function permit(
  dispatcher: Dispatcher,
  request: ApiRequest,
  path: ResourcePath,
  call: Call,
  trail?: AuditTrail,
): Promise<UserInfo> {
  const { user, real } = await userOf(dispatcher, request, call, trail);
  const attributes = attributesOf(user, request, path);
  trail?.identify(attributes, real);
  await requireAllowed(dispatcher.services, attributes, call, trail);
  return user;
}

/** `real` is who stands behind an impersonated user; the same object where nobody is impersonated. */
async function userOf(
  { services, authenticators }: Dispatcher,
  request: ApiRequest,
  call: Call,
  trail: AuditTrail | undefined,
): Promise<{ user: UserInfo; real: UserInfo }> {
  const real =
    request.user ??
    (await authenticate(authenticators, request, call).catch((error: unknown) => {
      trail?.unauthenticated(askedFor(request));
      throw error;
    }));
  const { certificate } = request.peer;
  if (certificate) services.metrics.certificateUsed((certificate.endsAt - services.clock.now()) / 1000);
  if (!asksToImpersonate(request.headers)) return { user: real, real };
  try {
    return { user: await impersonate(real, request.headers, services.authorize, call), real };
  } catch (error) {
    // Who may not impersonate is recorded as themselves.
    trail?.identify({ ...askedFor(request), user: real }, real);
    throw error;
  }
}

/** What a request is after, for the record of one that is refused before that matters. */
function askedFor(request: ApiRequest): Omit<Attributes, "user"> {
  const { user: _, ...asked } = attributesOf(anonymousUser, request, parsePath(request.path));
  return { ...asked, verb: asked.verb || request.method.toLowerCase() };
}

async function authenticate(
  authenticators: readonly Authenticator[],
  request: ApiRequest,
  call: Call,
): Promise<UserInfo> {
  // A server without authenticators is one for tests and trials: everyone is nobody.
  if (authenticators.length === 0) return anonymousUser;
  const credentials = { headers: request.headers, peer: request.peer, path: request.path };
  for (const authenticator of authenticators) {
    const user = await authenticator.authenticate(credentials, call);
    if (user) return user;
  }
  throw new Fault("unauthorized", "Unauthorized");
}

const namedVerbs = ["get", "update", "patch", "delete"] as const;

/** Throws where no route of the resource has this form: 404 for a path that does not exist, 405 for a method that it does not have. */
function requireRoute(definition: ResourceDefinition, path: ResourcePath, { method }: ApiRequest): void {
  const { prefix, inNamespace, name, subresource } = path;
  const { namespaced, verbs } = definition;
  if (!namespaced && inNamespace) throw unknownPath();
  // Across namespaces there are only lists, and what is only created has no names.
  if (namespaced && !inNamespace && (name !== "" || verbs?.includes("list") === false)) throw unknownPath();
  if (name !== "" && subresource === "" && verbs && !namedVerbs.some((verb) => verbs.includes(verb)))
    throw unknownPath();
  if (prefix === "watch") {
    if (subresource !== "" || verbs?.includes("watch") === false) throw unknownPath();
    if (method !== "GET") throw methodNotAllowed();
  }
}

const verbs: Record<string, (scope: Scope) => Promise<Answer>> = {
  get: getObject,
  list: listObjects,
  watch: watchObjects,
  create: createObject,
  update: replaceObject,
  patch: patchObject,
  delete: deleteObject,
  deletecollection: deleteCollection,
};

function answerVerb(verb: string, path: ResourcePath, scope: Scope): Promise<Answer> {
  const { definition } = scope;
  const handle = verbs[verb];
  if (
    !handle ||
    scope.request.method === "HEAD" ||
    (definition.verbs && !(definition.verbs as readonly string[]).includes(verb))
  )
    throw methodNotAllowed();
  // POST and the like need a collection, PUT and the like an object.
  if ((verb === "create") !== (scope.name === "") && (verb === "create" || verb === "update" || verb === "patch"))
    throw methodNotAllowed();
  requireNames(path, scope);
  const virtual = scope.services.virtuals.get(`${definition.group}/${definition.plural}`);
  return virtual ? answerVirtual(virtual, verb, scope) : handle(scope);
}
