// The error codes of the CNI specification, and a Fault that carries one.

import { Fault, type FaultCode, toFault } from "../../plugins/kit/base/fault.ts";

export const cniCode = {
  incompatibleVersion: 1,
  unsupportedField: 2,
  unknownContainer: 3,
  invalidEnvironment: 4,
  ioFailure: 5,
  decodingFailure: 6,
  invalidConfig: 7,
  tryAgainLater: 11,
  notAvailable: 50,
  limitedConnectivity: 51,
  /** From 100 on the codes belong to the plugin; ours has only this one. */
  internal: 999,
} as const;

export type CniCode = (typeof cniCode)[keyof typeof cniCode] | (number & {});

const faultCodes: Readonly<Record<number, FaultCode>> = {
  1: "unsupported",
  2: "unsupported",
  3: "not-found",
  4: "invalid",
  5: "internal",
  6: "invalid",
  7: "invalid",
  11: "unavailable",
  50: "unavailable",
  51: "unavailable",
};

export class CniFault extends Fault {
  readonly cniCode: CniCode;

  constructor(code: CniCode, message: string, options: { cause?: unknown; details?: string } = {}) {
    super(faultCodes[code] ?? "internal", message, options);
    this.cniCode = code;
  }
}

/** The JSON that a failing program prints. */
export interface CniErrorBody {
  readonly cniVersion: string;
  readonly code: number;
  readonly msg: string;
  readonly details?: string;
}

/** What to tell the runtime of any error: a Fault without a code of the specification becomes the nearest one. */
export function errorBody(error: unknown, cniVersion: string): CniErrorBody {
  const fault = toFault(error, "Cannot complete the network operation");
  if (fault instanceof CniFault) {
    const details = typeof fault.details === "string" ? { details: fault.details } : {};
    return { cniVersion, code: fault.cniCode, msg: fault.message, ...details };
  }
  const nearest: Partial<Record<FaultCode, number>> = {
    invalid: cniCode.invalidConfig,
    unavailable: cniCode.tryAgainLater,
    timeout: cniCode.tryAgainLater,
    conflict: cniCode.tryAgainLater,
    unsupported: cniCode.unsupportedField,
  };
  return { cniVersion, code: nearest[fault.code] ?? cniCode.internal, msg: fault.message };
}

/** The Fault for what a foreign program printed on failure. */
export function faultOf(body: Partial<CniErrorBody>, doing: string): CniFault {
  const details = body.details ? ` (${body.details})` : "";
  return new CniFault(body.code ?? cniCode.internal, `${doing}: ${body.msg ?? "no reason given"}${details}`);
}
