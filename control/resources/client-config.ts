// Checks where a webhook is said to listen: a URL or a service, and the authority of its certificate.

import type { ClientConfig } from "../../plugins/kit/kube/client-config.ts";
import { type FieldErrors, invalid, required } from "../machinery/field-error.ts";
import { dnsSubdomain } from "./names.ts";

const form = "; desired format: https://host[/path]";

/** `path` is the field that holds the configuration. */
export function validateClientConfig({ url, service, caBundle }: ClientConfig, path: string): FieldErrors {
  const errors: FieldErrors = [];
  if ((url === undefined) === (service === undefined))
    errors.push(required(path, "exactly one of url or service is required"));
  else if (url !== undefined) errors.push(...validateUrl(url, `${path}.url`));
  else if (service) errors.push(...validateService(service, `${path}.service`));
  if (caBundle && !isCertificates(caBundle))
    errors.push(
      invalid(`${path}.caBundle`, "<data>", "unable to load root certificates: unable to parse bytes as PEM block"),
    );
  return errors;
}

/** Whether the bytes behind the base64 hold certificates in PEM. */
function isCertificates(bundle: string): boolean {
  return Buffer.from(bundle, "base64").toString("latin1").includes("-----BEGIN CERTIFICATE-----");
}

function validateUrl(text: string, path: string): FieldErrors {
  if (!URL.canParse(text)) {
    const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1] ?? "";
    return [
      ...(scheme === "https" ? [] : [invalid(path, scheme, `'https' is the only allowed URL scheme${form}`)]),
      invalid(path, "", `host must be specified${form}`),
    ];
  }
  const url = new URL(text);
  const scheme = url.protocol.slice(0, -1);
  const user = [url.username, url.password].filter((part) => part !== "").join(":");
  return [
    ...(scheme === "https" ? [] : [invalid(path, scheme, `'https' is the only allowed URL scheme${form}`)]),
    ...(url.host === "" ? [invalid(path, "", `host must be specified${form}`)] : []),
    ...(user === "" ? [] : [invalid(path, user, "user information is not permitted in the URL")]),
    ...(url.hash === "" ? [] : [invalid(path, url.hash.slice(1), "fragments are not permitted in the URL")]),
    ...(url.search === "" ? [] : [invalid(path, url.search.slice(1), "query parameters are not permitted in the URL")]),
  ];
}

function validateService(service: NonNullable<ClientConfig["service"]>, path: string): FieldErrors {
  const errors: FieldErrors = [];
  // The two are mixed up in upstream's answers, and so here.
  if (!service.namespace) errors.push(required(`${path}.name`, "service name is required"));
  if (!service.name) errors.push(required(`${path}.namespace`, "service namespace is required"));
  const port = service.port ?? 443;
  if (port < 1 || port > 65_535)
    errors.push(invalid(`${path}.port`, port, "port is not valid: must be between 1 and 65535, inclusive"));
  return [...errors, ...validatePath(service.path ?? "", `${path}.path`)];
}

function validatePath(text: string, path: string): FieldErrors {
  if (text === "" || text === "/") return [];
  if (text === "//") return [invalid(path, text, "segment[0] may not be empty")];
  const errors: FieldErrors = text.startsWith("/") ? [] : [invalid(path, text, "must start with a '/'")];
  const steps = text.slice(1).replace(/\/$/, "").split("/");
  steps.forEach((step, index) => {
    if (step === "") errors.push(invalid(path, text, `segment[${index}] may not be empty`));
    else for (const problem of dnsSubdomain(step)) errors.push(invalid(path, text, `segment[${index}]: ${problem}`));
  });
  return errors;
}
