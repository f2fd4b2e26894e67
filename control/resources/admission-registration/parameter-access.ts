// A policy shows its parameters to whoever meets it, so its author must be allowed to read them: all objects of the kind that the
// policy names, and the one that a binding names. As upstream, members of system:masters are not asked.

import type { UserInfo } from "../../../plugins/kit/kube/user-info.ts";
import type { CheckContext } from "../definition.ts";
import { type FieldErrors, forbidden } from "../../machinery/field-error.ts";

interface ParamKind {
  readonly apiVersion?: string;
  readonly kind?: string;
}

const isSuperuser = ({ groups }: UserInfo) => groups.includes("system:masters");

export async function checkParamKind(
  next: ParamKind | undefined,
  previous: ParamKind | undefined,
  context: CheckContext,
): Promise<FieldErrors> {
  if (!next || isSuperuser(context.user)) return [];
  const { apiVersion, kind } = next;
  if (previous?.apiVersion === apiVersion && previous?.kind === kind) return [];
  if (await context.mayGet({ ...resourceOf(next, context), namespace: "*", name: "*" })) return [];
  const why = `user ${JSON.stringify(context.user.name)} must have "get" permission on all objects of the referenced paramKind (kind=${kind}, apiVersion=${apiVersion})`;
  return [forbidden("spec.paramKind", why)];
}

/** `kind` is that of the policy; where it is not known, only who may read everything may bind. */
export async function checkParamRef(
  ref: { readonly name?: string; readonly namespace?: string } | undefined,
  kind: ParamKind | undefined,
  context: CheckContext,
): Promise<FieldErrors> {
  if (!ref || isSuperuser(context.user)) return [];
  const { namespace = "", name = "" } = ref;
  if (await context.mayGet({ ...resourceOf(kind, context), namespace, name })) return [];
  const why = `user ${JSON.stringify(context.user.name)} does not have "get" permission on the object referenced by paramRef`;
  return [forbidden("spec.paramRef", why)];
}

function resourceOf(paramKind: ParamKind | undefined, { pluralOf }: CheckContext) {
  if (!paramKind) return { group: "*", version: "*", plural: "*", subresource: "" };
  const { apiVersion = "", kind = "" } = paramKind;
  const [group = "", version = ""] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  return { group, version, plural: pluralOf(apiVersion, kind) ?? "*", subresource: "" };
}
