// Validation of how much a priority level may do at once.

import { type FieldErrors, forbidden, invalid, notSupported, required } from "../../machinery/field-error.ts";

interface Shares {
  nominalConcurrencyShares?: number | null;
  lendablePercent?: number | null;
}

interface Queuing {
  queues?: number;
  handSize?: number;
  queueLengthLimit?: number;
}

interface Limited extends Shares {
  borrowingLimitPercent?: number | null;
  limitResponse?: { type?: string; queuing?: Queuing | null };
}

export interface LevelSpec {
  type?: string;
  limited?: Limited | null;
  exempt?: Shares | null;
}

const mostQueues = 10_000_000;
/** How many bits of a flow's hash can be spent on choosing its queues. */
const hashBits = 60;

export function validateLevel({ type = "", limited, exempt }: LevelSpec): FieldErrors {
  const errors: FieldErrors = [];
  if (type === "Exempt") {
    if (limited) errors.push(forbidden("spec.limited", "must be nil if the type is not Limited"));
    if (exempt) validateShares(exempt, "spec.exempt", errors);
  } else if (type === "Limited") {
    if (exempt) errors.push(forbidden("spec.exempt", "must be nil if the type is Limited"));
    if (limited) validateLimited(limited, "spec.limited", errors);
    else errors.push(required("spec.limited", "must not be empty when type is Limited"));
  } else errors.push(notSupported("spec.type", type, ["Exempt", "Limited"]));
  return errors;
}

function validateShares(shares: Shares, at: string, errors: FieldErrors): void {
  const { nominalConcurrencyShares: nominal, lendablePercent: lent } = shares;
  if (nominal != null && nominal < 0)
    errors.push(invalid(`${at}.nominalConcurrencyShares`, nominal, "must be a non-negative integer"));
  if (lent != null && (lent < 0 || lent > 100))
    errors.push(invalid(`${at}.lendablePercent`, lent, "must be between 0 and 100, inclusive"));
}

function validateLimited(limited: Limited, at: string, errors: FieldErrors): void {
  validateShares(limited, at, errors);
  const { borrowingLimitPercent: borrowed, limitResponse: { type = "", queuing } = {} } = limited;
  if (borrowed != null && borrowed < 0)
    errors.push(invalid(`${at}.borrowingLimitPercent`, borrowed, "if specified, must be a non-negative integer"));
  const field = `${at}.limitResponse`;
  // That a response is Limited is upstream's word for Queue.
  if (type === "Reject") {
    if (queuing) errors.push(forbidden(`${field}.queuing`, "must be nil if limited.limitResponse.type is not Limited"));
  } else if (type === "Queue") {
    if (queuing) validateQueuing(queuing, `${field}.queuing`, errors);
    else errors.push(required(`${field}.queuing`, "must not be empty if limited.limitResponse.type is Limited"));
  } else errors.push(notSupported(`${field}.type`, type, ["Queue", "Reject"]));
}

function validateQueuing(queuing: Queuing, at: string, errors: FieldErrors): void {
  const { queues = 0, handSize = 0, queueLengthLimit = 0 } = queuing;
  if (queueLengthLimit <= 0) errors.push(invalid(`${at}.queueLengthLimit`, queueLengthLimit, "must be positive"));
  if (queues <= 0) errors.push(invalid(`${at}.queues`, queues, "must be positive"));
  else if (queues > mostQueues) errors.push(invalid(`${at}.queues`, queues, `must not be greater than ${mostQueues}`));
  const problem = handProblem(queues, handSize);
  if (problem) errors.push(invalid(`${at}.handSize`, handSize, problem));
}

function handProblem(queues: number, handSize: number): string | undefined {
  if (handSize <= 0) return "must be positive";
  if (handSize > queues) return `should not be greater than queues (${queues})`;
  return Math.ceil(Math.log2(queues) * handSize) > hashBits
    ? `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${hashBits}`
    : undefined;
}
