// Decides where a new key begins while the layout changes (src/kernel/object/README.md): in this object, in another layout, or only after
// an older object has said that it has no record of the key. Layouts are known by their names alone. What a record that exists
// gets is decided by the life cycle, and is the same in a sealed object.

/** An object of an older layout that would keep the key. */
export interface Elder {
  readonly layout: string;
  /** The layout for which it is sealed, as it said; `null`: it has not been asked, and may not be sealed. */
  readonly next: string | null;
  /** Whether it has said that it has no record of the key. After its seal that stays true. */
  readonly isAbsent: boolean;
  /** Whether the request says which names its record would have there. */
  readonly isNamed: boolean;
  /** Whether the request has only come from there, while it was open. It is an elder if another one is sealed for it. */
  readonly isVisited: boolean;
}

export interface HomeFacts {
  /** The layout in which the request has come to this object. */
  readonly layout: string;
  /** The layout for which this object is sealed; `null`: it is open. */
  readonly seal: string | null;
  /** Those that the request names and those that this object knows, each layout once, oldest first. */
  readonly elders: readonly Elder[];
}

export type Home =
  /** New keys begin here. */
  { readonly kind: "own" } | Elsewhere;

export type Elsewhere =
  /** Ask this layout's object first. */
  | { readonly kind: "ask"; readonly elder: string }
  | { readonly kind: "moved"; readonly to: string }
  /** The request has to come again, with its record's names in the layouts of all elders. */
  | { readonly kind: "unnamed" };

export const OWN: Home = { kind: "own" };

export function homeOf({ layout, seal, elders }: HomeFacts): Home {
  if (seal !== null) return { kind: "moved", to: seal };
  const successors = new Set(elders.map(({ next }) => next));
  const counted = elders.filter(({ isVisited, next, layout: at }) => !isVisited || next !== null || successors.has(at));
  const heard = new Set([layout, ...counted.map((elder) => elder.layout)]);
  for (const { next } of counted) {
    // The first layout that sealed an elder owns its keys. If it is none of those heard here, nothing begins here.
    if (next !== null && !heard.has(next)) return { kind: "moved", to: next };
  }
  const unheard = counted.find(({ isAbsent, next }) => !isAbsent || next === null);
  if (unheard === undefined) return OWN;
  return unheard.isNamed ? { kind: "ask", elder: unheard.layout } : { kind: "unnamed" };
}
