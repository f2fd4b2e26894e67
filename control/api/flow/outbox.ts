// Outbox counts the bytes of answers that are made and not yet sent, by user. What a client does not read stays in memory:
// beyond its budget a user is asked to come back later, and so is everyone beyond that of the server.

import { tooManyRequests } from "../../machinery/status.ts";

export interface OutboxLimits {
  readonly mostBytesPerUser: number;
  readonly mostBytes: number;
}

const defaultOutboxLimits: OutboxLimits = { mostBytesPerUser: 64 << 20, mostBytes: 256 << 20 };

/** What a connection's own buffers take, and so is as good as sent. */
export const smallAnswerBytes = 64 * 1024;

const retryAfterSeconds = 1;

interface Unread {
  bytes: number;
  /** Whose answers did not fit: they are not made again before something was read. */
  readonly refusedPaths: Set<string>;
}

export class Outbox {
  readonly #limits: OutboxLimits;
  readonly #unreadByUser = new Map<string, Unread>();
  #bytes = 0;

  constructor(limits: OutboxLimits = defaultOutboxLimits) {
    this.#limits = limits;
  }

  /** What waits to be sent, of all users. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Before the work of a request: throws 429 for a user who has not read what was answered before. */
  admit(user: string, path: string): void {
    const unread = this.#unreadByUser.get(user);
    if (unread && (unread.bytes >= this.#limits.mostBytesPerUser || unread.refusedPaths.has(path)))
      throw tooMuchUnread(user);
  }

  /**
   * Counts an answer until the returned function is called. Throws 429 where it does not fit; one answer of any size always does, or
   * nobody could ever list a large collection.
   */
  hold(user: string, path: string, bytes: number): () => void {
    const { mostBytesPerUser, mostBytes } = this.#limits;
    const known = this.#unreadByUser.get(user);
    if (known && known.bytes + bytes > mostBytesPerUser) {
      known.refusedPaths.add(path);
      throw tooMuchUnread(user);
    }
    if (this.#bytes > 0 && this.#bytes + bytes > mostBytes)
      throw tooManyRequests("Too many answers wait to be read, please try again later.", retryAfterSeconds);
    const unread = known ?? { bytes: 0, refusedPaths: new Set<string>() };
    this.#unreadByUser.set(user, unread);
    unread.bytes += bytes;
    this.#bytes += bytes;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#bytes -= bytes;
      unread.bytes -= bytes;
      unread.refusedPaths.clear();
      if (unread.bytes === 0) this.#unreadByUser.delete(user);
    };
  }
}

function tooMuchUnread(user: string) {
  return tooManyRequests(
    `Too many answers for user ${JSON.stringify(user)} wait to be read, please try again later.`,
    retryAfterSeconds,
  );
}
