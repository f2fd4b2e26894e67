// Validation of how a certificate signing request stands: who decides, and what a signer hands out.

import { X509Certificate } from "node:crypto";
import { deepEqual } from "../../machinery/equal.ts";
import {
  duplicate,
  type FieldErrors,
  forbidden,
  invalid,
  notSupported,
  required,
} from "../../machinery/field-error.ts";

interface Condition {
  type?: string;
  status?: string;
  lastUpdateTime?: string;
  lastTransitionTime?: string;
}

export interface RequestStatus {
  conditions?: Condition[] | null;
  certificate?: string | null;
}

const decisions = ["Approved", "Denied"];
/** What once happened; it cannot be false. */
const facts = [...decisions, "Failed"];
const field = "status.conditions";

const ofType = (status: RequestStatus, type: string) =>
  (status.conditions ?? []).filter((condition) => condition.type === type);

/** Of approval and of status alike. */
function validateConditions(next: RequestStatus, previous: RequestStatus): FieldErrors {
  const errors: FieldErrors = [];
  const seen = new Set<string>();
  (next.conditions ?? []).forEach(({ type = "", status = "" }, index) => {
    const at = `${field}[${index}]`;
    const allowed = facts.includes(type) ? ["True"] : ["False", "True", "Unknown"];
    if (type === "") errors.push(required(`${at}.type`));
    if (status === "") errors.push(required(`${at}.status`));
    else if (!allowed.includes(status)) errors.push(notSupported(`${at}.status`, status, allowed));
    if (decisions.includes(type) && decisions.some((other) => other !== type && seen.has(other)))
      errors.push(invalid(`${at}.type`, type, "Approved and Denied conditions are mutually exclusive"));
    if (seen.has(type)) errors.push(duplicate(`${at}.type`, type));
    seen.add(type);
  });
  for (const type of facts)
    if (ofType(next, type).length < ofType(previous, type).length)
      errors.push(forbidden(field, `updates may not remove a condition of type ${JSON.stringify(type)}`));
  return errors;
}

export const validateApproval = validateConditions;

/** The signer may not decide; that is what approval is for. */
export function validateRequestStatus(next: RequestStatus, previous: RequestStatus): FieldErrors {
  const errors = validateConditions(next, previous);
  for (const type of decisions) {
    const [now, before] = [ofType(next, type), ofType(previous, type)];
    if (now.length > before.length)
      errors.push(forbidden(field, `updates may not add a condition of type ${JSON.stringify(type)}`));
    else if (now.length === before.length && !deepEqual(now, before))
      errors.push(forbidden(field, `updates may not modify a condition of type ${JSON.stringify(type)}`));
  }
  if ((next.certificate ?? "") === (previous.certificate ?? "")) return errors;
  if (previous.certificate)
    errors.push(forbidden("status.certificate", "updates may not modify existing certificate content"));
  const problem = next.certificate ? certificateProblem(next.certificate) : undefined;
  if (problem) errors.push(invalid("status.certificate", "<certificate data>", problem));
  return errors;
}

function certificateProblem(base64: string): string | undefined {
  const text = Buffer.from(base64, "base64").toString("latin1");
  const blocks = [...text.matchAll(/-----BEGIN ([A-Z0-9 ]+)-----([^]*?)-----END \1-----/g)];
  if (blocks.length === 0) return "must contain at least one CERTIFICATE PEM block";
  for (const [block, type = "", body = ""] of blocks) {
    if (type !== "CERTIFICATE") return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(type)}`;
    if (body.includes(":")) return "no PEM block headers are permitted";
    try {
      new X509Certificate(block);
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }
  return undefined;
}
