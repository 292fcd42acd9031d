// How far groups have read in the partitions whose records are here. A position moves with the completion of a claim, in one commit.
// kernel/record/position.ts decides where to.

import {
  afterCompletion,
  nextPosition,
  type PartitionPosition,
  setTo,
  type StoredPosition,
} from "../../../kernel/record/position.ts";
import type { RecordId } from "../../../kernel/record/units.ts";
import { logFailure } from "../../../kernel/traffic/bookkeep.ts";
import { OpenOffsets } from "./open-offsets.ts";
import type { Ledger } from "../../../kernel/store/ledger.ts";
import { type ClaimedOffset, isSamePosition, type GroupPartition, type PositionRows } from "./position-rows.ts";

/** What is written at the end of a turn. */
interface MovedPosition {
  readonly partition: GroupPartition;
  readonly position: StoredPosition;
}

export class PartitionPositions {
  readonly #positions: PositionRows;
  readonly #together: Ledger["together"];
  readonly #open: OpenOffsets;
  /** By partition; `null` outside `inOneTurn`. */
  #moved: Map<string, MovedPosition> | null = null;
  /** Completed messages that were claimed again, and for which no position has been moved yet. */
  #answered: readonly ClaimedOffset[] = [];

  /** `isOpen`: whether the record is claimed and not completed. */
  constructor(
    { positions, ledger }: { readonly positions: PositionRows; readonly ledger: Pick<Ledger, "together"> },
    isOpen: (id: RecordId) => boolean,
  ) {
    this.#positions = positions;
    this.#together = (run) => ledger.together(run);
    this.#open = new OpenOffsets(
      () => positions.claimed(),
      isOpen,
      (partition) => this.#stored(partition)?.claimed ?? [],
    );
  }

  /** A claim has been granted. */
  claimed(claimed: ClaimedOffset): void {
    this.#open.add(claimed);
  }

  /**
   * A claim was answered and not granted, so its message has arrived all the same. `isCompleted`: it is over. The position moves only
   * if it waited for this message: reading again writes nothing. A failure is no reason to refuse the claim.
   */
  answered(claimed: ClaimedOffset, isCompleted: boolean): void {
    logFailure("moving positions", () => {
      const before = this.#stored(claimed);
      if (before !== null && claimed.offset < before.next) return;
      this.#open.note(claimed, claimed);
      if (!isCompleted) return;
      this.#answered = [...this.#answered, claimed];
      if (this.#moved === null) this.#moveAnswered();
    });
  }

  #moveAnswered(): void {
    const answered = this.#answered;
    this.#answered = [];
    for (const claimed of answered) {
      const before = this.#stored(claimed);
      const open = this.#open.lowest(claimed, null);
      const position = afterCompletion(before, this.#open.claimed(claimed), claimed.offset, open);
      if (isSamePosition(before, position)) continue;
      this.#put({ partition: claimed, position });
      if (this.#moved === null) this.#positions.made();
    }
  }

  /** An operator sets the position. `ifKnown`: only where something is stored. Returns whether it is set here. */
  set(partition: GroupPartition, next: number, ifKnown: boolean): boolean {
    const before = this.#stored(partition);
    if (before === null && ifKnown) return false;
    this.#positions.put(partition, setTo(next, before, this.#open.claimed(partition)));
    this.#positions.made();
    this.#open.reset(partition);
    return true;
  }

  /** What this object knows of a partition. */
  get(partition: GroupPartition): PartitionPosition {
    const stored = this.#stored(partition);
    const open = this.#open.lowest(partition, null);
    const next = nextPosition(stored, this.#open.claimed(partition), open);
    const isUnclaimed = next !== null && stored !== null && next < stored.done;
    return { next, isHeld: isUnclaimed || (open !== null && open >= (stored?.next ?? 0)) };
  }

  /** Completes a claim with `settle` and moves the position of its partition, in one commit. */
  complete(claimed: ClaimedOffset, settle: () => void): void {
    const open = this.#open.lowest(claimed, claimed.id);
    const before = this.#stored(claimed);
    const position = afterCompletion(before, this.#open.note(claimed, claimed), claimed.offset, open);
    this.#together(() => {
      settle();
      if (!isSamePosition(before, position)) this.#put({ partition: claimed, position });
    });
    if (this.#moved === null) this.#positions.made();
    this.#open.remove(claimed, claimed.id);
  }

  /**
   * Runs several claims or completions without a pause, so that they are one commit, and writes the position of each partition only once.
   * Should this write alone fail, the position is behind until the next completion. Answers move positions at the end, because a claim
   * that is granted after them in the same commit has to hold its position.
   */
  inOneTurn<T>(run: () => T): T {
    const moved = new Map<string, MovedPosition>();
    this.#moved = moved;
    try {
      return run();
    } finally {
      logFailure("moving positions", () => this.#moveAnswered());
      this.#moved = null;
      logFailure("moving positions", () => {
        for (const one of moved.values()) {
          this.#put(one);
          this.#positions.made();
        }
      });
    }
  }

  #stored(partition: GroupPartition): StoredPosition | null {
    return this.#moved?.get(nameOf(partition))?.position ?? this.#positions.get(partition);
  }

  #put(moved: MovedPosition): void {
    if (this.#moved === null) this.#positions.put(moved.partition, moved.position);
    else this.#moved.set(nameOf(moved.partition), moved);
  }
}

function nameOf({ route, stream, partition }: GroupPartition): string {
  return JSON.stringify([route, stream, partition]);
}
