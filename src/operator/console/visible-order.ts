// Makes characters visible that change the order in which other text is shown (Unicode Bidirectional Algorithm). Labels, targets, reasons and
// bodies come from clients and origins: with such a character one value can look like another to whoever decides about it.

/** ALM, LRM and RLM; embeddings and overrides; isolates. */
const ORDER_CONTROL = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A field whose text is sent back as it is; a tag; text. Values of attributes have no `>`: they are escaped. */
const PIECE = /<textarea\b[^>]*>[^<]*|<[^>]*>|[^<]+/g;

/** The page with each such character in its text as its code point: `[U+202E]`. What a form sends stays as it is. */
export function withVisibleOrder(html: string): string {
  if (html.search(ORDER_CONTROL) === -1) return html;
  return html.replaceAll(PIECE, (piece) =>
    piece.startsWith("<") ? piece : piece.replaceAll(ORDER_CONTROL, (character) => `[${codePoint(character)}]`),
  );
}

function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
