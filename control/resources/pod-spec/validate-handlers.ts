// Validation of probes and of life-cycle hooks: what they do, and when.

import type { Container, Probe } from "../../../plugins/kit/kube/objects/types.ts";
import { type FieldErrors, forbidden, invalid, notSupported, required } from "../../machinery/field-error.ts";
import { isPortNumber, portName } from "../names.ts";

type Hook = NonNullable<NonNullable<Container["lifecycle"]>["preStop"]>;
/** Either of the two; neither has all of the actions. */
type Handler = Pick<Hook, "exec" | "httpGet" | "tcpSocket" | "sleep"> & Pick<Probe, "grpc">;

const actions = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] as const;
const headerName = /^[-A-Za-z0-9]+$/;

export const portRange = "must be between 1 and 65535, inclusive";

function validatePort(port: string | number | undefined, field: string, errors: FieldErrors): void {
  if (typeof port === "string") for (const problem of portName(port)) errors.push(invalid(field, port, problem));
  else if (!isPortNumber(port)) errors.push(invalid(field, port ?? 0, portRange));
}

/** `graceSeconds` is the pod's, when it is known. */
function validateHandler(handler: Handler, graceSeconds: number | undefined, at: string, errors: FieldErrors): void {
  const [first, ...others] = actions.filter((action) => handler[action] !== undefined && handler[action] !== null);
  if (!first) errors.push(required(at, "must specify a handler type"));
  else validateAction(handler, first, graceSeconds, `${at}.${first}`, errors);
  for (const other of others) errors.push(forbidden(`${at}.${other}`, "may not specify more than 1 handler type"));
}

function validateAction(
  handler: Handler,
  action: (typeof actions)[number],
  graceSeconds: number | undefined,
  at: string,
  errors: FieldErrors,
): void {
  const { exec, httpGet, sleep } = handler;
  if (action === "exec") {
    if ((exec?.command?.length ?? 0) === 0) errors.push(required(`${at}.command`));
  } else if (action === "sleep") {
    const seconds = sleep?.seconds ?? 0;
    if (graceSeconds !== undefined && (seconds <= 0 || seconds > graceSeconds))
      errors.push(
        invalid(
          at,
          seconds,
          `must be greater than 0 and less than terminationGracePeriodSeconds (${graceSeconds}). Enable AllowPodLifecycleSleepActionZeroValue feature gate for zero sleep.`,
        ),
      );
  } else {
    if (action === "httpGet" && !httpGet?.path) errors.push(required(`${at}.path`));
    validatePort(handler[action]?.port, `${at}.port`, errors);
    if (action === "httpGet" && httpGet) {
      if (!["HTTP", "HTTPS"].includes(httpGet.scheme ?? ""))
        errors.push(notSupported(`${at}.scheme`, httpGet.scheme ?? "", ["HTTP", "HTTPS"]));
      for (const { name } of httpGet.httpHeaders ?? [])
        if (!headerName.test(name ?? ""))
          errors.push(
            invalid(
              `${at}.httpHeaders`,
              name ?? "",
              "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
            ),
          );
    }
  }
}

export function validateLifecycle(
  lifecycle: Container["lifecycle"],
  graceSeconds: number | undefined,
  at: string,
  errors: FieldErrors,
): void {
  for (const event of ["postStart", "preStop"] as const) {
    const hook = lifecycle?.[event];
    if (hook) validateHandler(hook, graceSeconds, `${at}.${event}`, errors);
  }
}

export const probeNames = ["livenessProbe", "readinessProbe", "startupProbe"] as const;

export function validateProbes(
  container: Container,
  graceSeconds: number | undefined,
  at: string,
  errors: FieldErrors,
): void {
  for (const name of probeNames) {
    const probe = container[name];
    if (!probe) continue;
    const field = `${at}.${name}`;
    validateProbe(probe, graceSeconds, field, errors);
    if (name !== "readinessProbe" && probe.successThreshold !== 1)
      errors.push(invalid(`${field}.successThreshold`, probe.successThreshold, "must be 1"));
    if (name === "readinessProbe" && probe.terminationGracePeriodSeconds != null)
      errors.push(
        invalid(
          `${field}.terminationGracePeriodSeconds`,
          probe.terminationGracePeriodSeconds,
          "must not be set for readinessProbes",
        ),
      );
  }
}

function validateProbe(probe: Probe, graceSeconds: number | undefined, at: string, errors: FieldErrors): void {
  validateHandler(probe, graceSeconds, at, errors);
  for (const name of [
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
  ] as const) {
    const value = probe[name];
    if (value !== undefined && value !== null && value < 0)
      errors.push(invalid(`${at}.${name}`, value, "must be greater than or equal to 0"));
  }
  const own = probe.terminationGracePeriodSeconds;
  if (own !== undefined && own !== null && own <= 0)
    errors.push(invalid(`${at}.terminationGracePeriodSeconds`, own, "must be greater than 0"));
}
