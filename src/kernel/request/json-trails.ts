// How far the reading of a JSON text has followed each of some pointers, and what they lead to. Knows nothing of bytes: the reader
// (json-pointer.ts) says where containers begin and end, and which name or index comes next.

/** Stands in a pointer for each element of an array. */
export const EACH = Symbol("each");

export type JsonPointer = readonly (string | typeof EACH)[];

export type JsonValue =
  | { readonly kind: "string"; readonly text: string }
  /** Its spelling does not matter: equal numbers have equal texts. */
  | { readonly kind: "number"; readonly text: string }
  /** A number that a double cannot tell from its neighbours, and that is not whole: readers may take either. */
  | { readonly kind: "imprecise" }
  /** A string with more characters than were asked for. */
  | { readonly kind: "long" }
  | { readonly kind: "literal"; readonly text: "true" | "false" | "null" }
  | { readonly kind: "container" }
  /** The name is there twice, in the value's object or in one around it. Readers may take either. */
  | { readonly kind: "repeated" };

/** A value, and which of the pointers leads to it. */
export interface FoundValue {
  readonly pointer: number;
  /** Which element of the array for which `EACH` stands; 0 without it. */
  readonly element: number;
  readonly value: JsonValue;
}

/** One step of a pointer; `bytes` is the name as UTF-8. */
interface Step {
  readonly name: string | typeof EACH;
  readonly bytes: Uint8Array;
}

/** How far the reading has followed one pointer. */
interface Trail {
  readonly pointer: number;
  readonly steps: readonly Step[];
  /** How many steps lead to the innermost open container on its way. */
  depth: number;
  /** For each of these containers: whether the step that leads on has been found in it. */
  readonly seen: boolean[];
  /** See `FoundValue`. */
  element: number;
  /** The last element in which a name on the way was there twice; -1 if none. What else is there does not matter then. */
  repeatedIn: number;
}

/** Elements after this many are not looked at, because each is a value in memory. */
export const MAX_ELEMENTS = 1000;

const encoder = new TextEncoder();

export class JsonTrails {
  readonly found: FoundValue[] = [];
  readonly #trails: readonly Trail[];
  /** Those on whose way the value is that follows. */
  #next: readonly Trail[] = [];
  /** How many containers are open around the innermost one; -1 before the first. */
  #depth = -1;

  constructor(pointers: readonly JsonPointer[]) {
    this.#trails = pointers.map((names, pointer) => {
      const steps = names.map((name): Step => ({ name, bytes: encoder.encode(typeof name === "string" ? name : "") }));
      return { pointer, steps, depth: 0, seen: [], element: 0, repeatedIn: -1 };
    });
  }

  /** A container begins: the value that follows. */
  open(): void {
    for (const trail of this.#next) {
      if (isEnd(trail)) {
        this.#add(trail, { kind: "container" });
      } else {
        trail.depth += 1;
        trail.seen[trail.depth] = false;
      }
    }
    this.#next = [];
    this.#depth += 1;
  }

  /** The innermost container ends. */
  close(): void {
    for (const trail of this.#trails) if (trail.depth === this.#depth && this.#depth > 0) trail.depth -= 1;
    this.#next = [];
    this.#depth -= 1;
  }

  /** The next value is the element with this index. */
  followIndex(index: number): void {
    const text = String(index);
    this.#follow(({ name }) => (name === EACH ? index < MAX_ELEMENTS : name === text));
    for (const trail of this.#next) if (trail.steps[trail.depth]?.name === EACH) trail.element = index;
  }

  /** The next value is the member with the name for which `isName` holds. */
  followName(isName: (name: string, bytes: Uint8Array) => boolean): void {
    this.#follow(({ name, bytes }) => typeof name === "string" && isName(name, bytes));
    for (const trail of this.#next) {
      if (trail.seen[trail.depth] === true) this.#add(trail, { kind: "repeated" });
      trail.seen[trail.depth] = true;
    }
  }

  /** Only trails that have led to the innermost container go on. */
  #follow(leads: (step: Step) => boolean): void {
    this.#next = this.#trails.filter((trail) => {
      const step = trail.steps[this.#depth];
      return trail.depth === this.#depth && step !== undefined && leads(step);
    });
  }

  /**
   * The next value is a scalar. `read` is called only if some pointer leads to it, and returns `null` if it is invalid. Returns
   * whether it may be valid.
   */
  scalar(read: () => JsonValue | null): boolean {
    const ends = this.#next.filter(isEnd);
    this.#next = [];
    if (ends.length === 0) return true;
    const value = read();
    if (value === null) return false;
    for (const trail of ends) this.#add(trail, value);
    return true;
  }

  #add(trail: Trail, value: JsonValue): void {
    const { pointer, element } = trail;
    if (trail.repeatedIn === element) return;
    if (value.kind === "repeated") trail.repeatedIn = element;
    this.found.push({ pointer, element, value });
  }
}

/** Whether the value that follows is what the pointer leads to. */
function isEnd({ depth, steps }: Trail): boolean {
  return depth === steps.length - 1;
}
