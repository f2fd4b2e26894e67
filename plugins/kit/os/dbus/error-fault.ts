// A refusal on D-Bus as a Fault.

import { Fault, type FaultCode } from "../../base/fault.ts";
import type { DbusMessage } from "./message.ts";

const codes: Readonly<Record<string, FaultCode>> = {
  "org.freedesktop.systemd1.UnitExists": "already-exists",
  "org.freedesktop.systemd1.NoSuchUnit": "not-found",
  "org.freedesktop.DBus.Error.UnknownMethod": "unsupported",
  "org.freedesktop.DBus.Error.UnknownObject": "not-found",
  "org.freedesktop.DBus.Error.UnknownInterface": "unsupported",
  "org.freedesktop.DBus.Error.UnknownProperty": "unsupported",
  "org.freedesktop.DBus.Error.PropertyReadOnly": "unsupported",
  "org.freedesktop.DBus.Error.InvalidArgs": "invalid",
  "org.freedesktop.DBus.Error.AccessDenied": "forbidden",
  "org.freedesktop.DBus.Error.AuthFailed": "forbidden",
  "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired": "forbidden",
  "org.freedesktop.DBus.Error.ServiceUnknown": "unavailable",
  "org.freedesktop.DBus.Error.NameHasNoOwner": "unavailable",
  "org.freedesktop.DBus.Error.NoReply": "unavailable",
  "org.freedesktop.DBus.Error.Disconnected": "unavailable",
  "org.freedesktop.DBus.Error.LimitsExceeded": "too-many",
  "org.freedesktop.DBus.Error.Timeout": "timeout",
};

/** `details.name` is the error's name on the bus. */
export function errorFault(doing: string, { errorName = "", body = [] }: DbusMessage): Fault {
  const said = typeof body[0] === "string" ? body[0] : errorName;
  return new Fault(codes[errorName] ?? "internal", `${doing}: ${said}`, { details: { name: errorName } });
}
