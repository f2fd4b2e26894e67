// A large answer holds its seat and its part of its user's budget until it is sent: a client that asks and does not read is
// one of those that are worked for.

import { type Answer, statusAnswer } from "../../machinery/answer.ts";
import { statusOf } from "../../machinery/status.ts";
import { type Outbox, smallAnswerBytes } from "./outbox.ts";

/** What a request holds while it is worked on. */
export interface Holding {
  /** What is asked for: `GET /api/v1/pods`. */
  readonly path: string;
  /** Whose budget its answer counts against; nobody's for callers in this process. */
  user?: string | undefined;
  /** Gives the seat back; may be called twice. */
  leave?: () => void;
  /** Gives back what was reserved of the budget; may be called twice. */
  release?: () => void;
  /** Whoever still works for it works for nobody. */
  isAnswered?: boolean;
}

/** Before the answer is made. Throws 429 where it does not fit. */
export function reserve(holding: Holding, outbox: Outbox, bytes: number): void {
  if (holding.user === undefined || bytes <= smallAnswerBytes || holding.isAnswered || holding.release) return;
  holding.release = outbox.hold(holding.user, holding.path, bytes);
}

/** The answer to send instead; `mayRefuse` unless what was asked for is done and only its answer would be lost. */
export function heldAnswer(answer: Answer, holding: Holding, outbox: Outbox, mayRefuse: boolean): Answer {
  const giveBack = () => {
    holding.release?.();
    holding.leave?.();
  };
  try {
    const bytes = lengthOf(answer.body);
    reserve(holding, outbox, bytes);
    if (holding.user !== undefined && bytes > smallAnswerBytes) answer.sent = giveBack;
    else giveBack();
    return answer;
  } catch (error) {
    giveBack();
    return mayRefuse ? statusAnswer(statusOf(error)) : answer;
  } finally {
    holding.isAnswered = true;
  }
}

function lengthOf(body: Answer["body"]): number {
  if (typeof body === "string" || body instanceof Uint8Array) return body.length;
  if (!Array.isArray(body)) return 0;
  return (body as readonly Uint8Array[]).reduce((sum, part) => sum + part.length, 0);
}
