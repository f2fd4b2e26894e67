// etcd's errors as Faults. etcd tells some apart by their text alone; these are the published sentences of its API.

import { type ServiceError, status } from "@grpc/grpc-js";
import { Fault, toFault } from "../../kit/base/fault.ts";

export function isCompacted(error: unknown): boolean {
  return (error as ServiceError).details?.includes("required revision has been compacted") ?? false;
}

function isFuture(error: unknown): boolean {
  return (error as ServiceError).details?.includes("required revision is a future revision") ?? false;
}

/** Anything a call to etcd threw; reasons of stopped calls pass through. */
export function etcdFault(error: unknown, doing: string): unknown {
  const { code, details } = error as Partial<ServiceError>;
  if (error instanceof Fault || typeof code !== "number" || details === undefined) return error;
  if (isCompacted(error)) return new Fault("expired", `${doing}: ${details}`, { cause: error });
  if (isFuture(error)) return new Fault("invalid", `${doing}: ${details}`, { cause: error });
  if (code === status.PERMISSION_DENIED) return new Fault("forbidden", `${doing}: ${details}`, { cause: error });
  if (code === status.UNAUTHENTICATED) return new Fault("unauthorized", `${doing}: ${details}`, { cause: error });
  // Full quota (NOSPACE alarm) and overload alike: the caller may try again later.
  if (code === status.RESOURCE_EXHAUSTED) return new Fault("unavailable", `${doing}: ${details}`, { cause: error });
  if (code === status.DEADLINE_EXCEEDED) return new Fault("timeout", `${doing}: ${details}`, { cause: error });
  return toFault(new Error(details, { cause: error }), doing, "unavailable");
}
