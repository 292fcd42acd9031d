// How signatures are read: the examples of RFC 9421, appendix B, and what must never be read as a signature of the request.

import { exportJWK, importSPKI } from "jose";
import { describe, expect, it } from "vitest";
import { HeaderSnapshot } from "../../../../src/kernel/request/headers.ts";
import {
  dictionaryOf,
  digestIn,
  type MessageSignature,
  neededComponents,
  readSignatures,
  type SignedMessage,
} from "../../../../src/features/identities/signature/message-signature.ts";
import { readSignatureKeys, type SignatureKey } from "../../../../src/features/identities/signature/signature-key.ts";

/** Appendix B.2. */
const DIGEST = "sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:";
const RFC_HEADERS: Readonly<Record<string, string>> = {
  host: "example.com",
  date: "Tue, 20 Apr 2021 02:07:55 GMT",
  "content-type": "application/json",
  "content-digest": DIGEST,
  "content-length": "18",
};

function messageWith(headers: Readonly<Record<string, string>>, more: Partial<SignedMessage> = {}): SignedMessage {
  return {
    method: "POST",
    authority: "example.com",
    path: "/foo",
    search: "?param=Value&Pet=dog",
    headers: new HeaderSnapshot(Object.entries({ ...RFC_HEADERS, ...headers })),
    keyHeaders: ["idempotency-key"],
    ...more,
  };
}

function signed(input: string, signature: string): SignedMessage {
  return messageWith({ "signature-input": input, signature });
}

function onlyOf(message: SignedMessage): MessageSignature {
  const [one] = readSignatures(message);
  if (one === undefined || "fault" in one) throw new Error(one?.reason ?? "no signature");
  return one;
}

/** Appendix B.1.2. */
const RSA_PSS = `-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAr4tmm3r20Wd/PbqvP1s2
+QEtvpuRaV8Yq40gjUR8y2Rjxa6dpG2GXHbPfvMs8ct+Lh1GH45x28Rw3Ry53mm+
oAXjyQ86OnDkZ5N8lYbggD4O3w6M6pAvLkhk95AndTrifbIFPNU8PPMO7OyrFAHq
gDsznjPFmTOtCEcN2Z1FpWgchwuYLPL+Wokqltd11nqqzi+bJ9cvSKADYdUAAN5W
Utzdpiy6LbTgSxP7ociU4Tn0g5I6aDZJ7A8Lzo0KSyZYoA485mqcO0GVAdVw9lq4
aOT9v6d+nb4bnNkQVklLQ3fVAvJm+xdDOp9LCNCN48V2pnDOkFV6+U9nV5oyc6XI
2wIDAQAB
-----END PUBLIC KEY-----`;

async function rsaKey(): Promise<SignatureKey> {
  return keyOf(await exportJWK(await importSPKI(RSA_PSS, "PS512")));
}

function keyOf(jwk: object): SignatureKey {
  const [key] = readSignatureKeys({ keys: [{ kty: "", ...jwk }] });
  if (key === undefined) throw new Error("no key for signatures");
  return key;
}

/** Appendix B.1.4. */
const ED25519 = { kty: "OKP", crv: "Ed25519", x: "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs" };

const B23 =
  'sig-b23=("date" "@method" "@path" "@query" "@authority" "content-type" "content-digest" "content-length");created=1618884473;keyid="test-key-rsa-pss"';
const B23_SIGNATURE =
  "sig-b23=:bbN8oArOxYoyylQQUU6QYwrTuaxLwjAC9fbY2F6SVWvh0yBiMIRGOnMYwZ/5MR6fb0Kh1rIRASVxFkeGt683+qRpRRU5p2voTp768ZrCUb38K0fUxN0O0iC59DzYx8DFll5GmydPxSmme9v6ULbMFkl+V5B1TP/yPViV7KsLNmvKiLJH1pFkh/aYA2HXXZzNBXmIkoQoLd7YfW91kE9o/CCoC1xMy7JA1ipwvKvfrs65ldmlu9bpG6A9BmzhuzF8Eim5f8ui9eH8LZH896+QIF61ka39VBrohr9iyMUJpvRX2Zbhl5ZJzSRxpJyoEZAFL2FUo5fTIztsDZKEgM4cUA==:";
const B26 =
  'sig-b26=("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"';
const B26_SIGNATURE =
  "sig-b26=:wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==:";

describe("the examples of RFC 9421", () => {
  it("B.2.3, full coverage with rsa-pss-sha512, verifies, and no more with one byte changed", async () => {
    const { base, signature, keyId } = onlyOf(signed(B23, B23_SIGNATURE));
    expect(keyId).toBe("test-key-rsa-pss");
    const key = await rsaKey();
    expect(key.algorithm).toBe("rsa-pss-sha512");
    expect(await key.verifies(signature, base)).toBe(true);
    const { base: other } = onlyOf(messageWith({ "signature-input": B23, signature: B23_SIGNATURE }, { path: "/fop" }));
    expect(await key.verifies(signature, other)).toBe(false);
  });

  it("B.2.6, ed25519, verifies, and its base is that of the RFC", async () => {
    const { base, signature } = onlyOf(signed(B26, B26_SIGNATURE));
    expect(new TextDecoder().decode(base)).toBe(`"date": Tue, 20 Apr 2021 02:07:55 GMT
"@method": POST
"@path": /foo
"@authority": example.com
"content-type": application/json
"content-length": 18
"@signature-params": ("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"`);
    expect(await keyOf(ED25519).verifies(signature, base)).toBe(true);
    expect(await (await rsaKey()).verifies(signature, base)).toBe(false);
  });

  it("B.2.2, which covers a parameter of the query, is refused: that component is not supported", () => {
    const input =
      'sig-b22=("@authority" "content-digest" "@query-param";name="Pet");created=1618884473;keyid="test-key-rsa-pss"';
    expect(readSignatures(signed(input, "sig-b22=:AAAA:"))).toMatchObject([{ fault: "signature-invalid" }]);
  });
});

describe("a signature", () => {
  const faultOf = (input: string, signature = "sig1=:AAAA:", headers = {}): string | undefined => {
    const [one] = readSignatures(messageWith({ ...headers, "signature-input": input, signature }));
    return one !== undefined && "fault" in one ? one.fault : undefined;
  };

  it("is read where all is there", () => {
    expect(faultOf('sig1=("@method" "x-a");keyid="k"', "sig1=:AAAA:", { "x-a": "" })).toBeUndefined();
  });

  it.each([
    ["a header that is not there", 'sig1=("x-none");keyid="k"'],
    ["a component twice", 'sig1=("@method" "@method");keyid="k"'],
    ["a component twice, once with a parameter", 'sig1=("date" "date";sf);keyid="k"'],
    ["a name in capitals", 'sig1=("Date");keyid="k"'],
    ["a derived name in capitals", 'sig1=("@Method");keyid="k"'],
    ["a derived name with a space", 'sig1=("@method ");keyid="k"'],
    ["a token for a name", 'sig1=(date);keyid="k"'],
    ["a number for a name", 'sig1=(1);keyid="k"'],
    ["bytes for a name", 'sig1=(:QUFB:);keyid="k"'],
    ["an empty name", 'sig1=("");keyid="k"'],
    ["the signature's own parameters", 'sig1=("@signature-params");keyid="k"'],
    ["@target-uri", 'sig1=("@target-uri");keyid="k"'],
    ["@scheme", 'sig1=("@scheme");keyid="k"'],
    ["@request-target", 'sig1=("@request-target");keyid="k"'],
    ["@status", 'sig1=("@status");keyid="k"'],
    ["a strict serialisation", 'sig1=("date";sf);keyid="k"'],
    ["bytes of a field", 'sig1=("date";bs);keyid="k"'],
    ["a trailer", 'sig1=("date";tr);keyid="k"'],
    ["a component of another request", 'sig1=("@method";req);keyid="k"'],
    ["a member of another dictionary", 'sig1=("content-digest";key="sha-512");keyid="k"'],
    ["a parameter that is false", 'sig1=("date";sf=?0);keyid="k"'],
    ["an unknown parameter", 'sig1=("date";x);keyid="k"'],
    ["no component list", "sig1=1"],
    ["an inner list without a key", 'sig1=("@method")'],
    ["a key that is a token", 'sig1=("@method");keyid=k'],
    ["a time with a fraction", 'sig1=("@method");keyid="k";created=1.5'],
    ["a time that is text", 'sig1=("@method");keyid="k";expires="1"'],
    ["a time before all times", 'sig1=("@method");keyid="k";created=-1'],
    ["a tag of another protocol", 'sig1=("@method");keyid="k";tag="header-example"'],
    ["a tag that is a token", 'sig1=("@method");keyid="k";tag=web-bot-auth'],
    ["an alg that is a token", 'sig1=("@method");keyid="k";alg=ed25519'],
    ["two labels of one name", 'sig1=("@method");keyid="k", sig1=("@path");keyid="k"'],
    ["what is no dictionary", 'sig1=("@method";keyid="k"'],
    ["too many components", `sig1=(${Array.from({ length: 51 }, (_, at) => `"x-${at}"`).join(" ")});keyid="k"`],
  ])("must not have %s", (_, input) => {
    expect(faultOf(input)).toBe("signature-invalid");
  });

  it.each([
    ["another label's bytes", "sig2=:AAAA:"],
    ["text", 'sig1="AAAA"'],
    ["a list of bytes", "sig1=(:AAAA:)"],
    ["bytes twice", "sig1=:AAAA:, sig1=:BBBB:"],
    ["nothing", "sig1"],
  ])("must not have %s for its own", (_, signature) => {
    expect(faultOf('sig1=("@method");keyid="k"', signature)).toBe("signature-invalid");
  });

  it("must not cover a header whose bytes are not ASCII", () => {
    expect(faultOf('sig1=("x-a");keyid="k"', "sig1=:AAAA:", { "x-a": "caf\ufffd" })).toBe("signature-invalid");
  });

  it("is missing without one of its headers, or with none named", () => {
    expect(readSignatures(messageWith({ signature: "sig1=:AAAA:" }))).toMatchObject([{ fault: "signature-missing" }]);
    expect(readSignatures(messageWith({ "signature-input": "sig1=()" }))).toMatchObject([
      { fault: "signature-missing" },
    ]);
    expect(faultOf("", "")).toBe("signature-missing");
  });

  it("is one of at most four", () => {
    const labels = ["a", "b", "c", "d", "e"];
    const input = (some: readonly string[]): string => some.map((one) => `${one}=("@method");keyid="k"`).join(", ");
    const values = labels.map((one) => `${one}=:AAAA:`).join(", ");
    expect(readSignatures(signed(input(labels.slice(0, 4)), values))).toHaveLength(4);
    expect(readSignatures(signed(input(labels), values))).toMatchObject([{ fault: "signature-invalid" }]);
  });

  it("covers one member of Signature-Agent as it is written there", () => {
    const agent = 'other="https://evil.example", sig1="https://platform.example/p";type=jwks_uri';
    const input = 'sig1=("signature-agent";key="sig1");keyid="k"';
    const headers = { "signature-agent": agent, "signature-input": input, signature: "sig1=:AAAA:" };
    const { base, agentMember } = onlyOf(messageWith(headers));
    expect(agentMember).toBe("sig1");
    expect(new TextDecoder().decode(base)).toContain(
      '"signature-agent";key="sig1": "https://platform.example/p";type=jwks_uri\n',
    );
    expect(faultOf('sig1=("signature-agent";key="none");keyid="k"', "sig1=:AAAA:", headers)).toBeDefined();
  });
});

it("a dictionary has each member once, whatever stands in its strings", () => {
  expect(dictionaryOf('a="x, y", b="\\", c", c')?.size).toBe(3);
  for (const text of ['a="x", a="y"', "a, a", 'a=%"x"', "a,", "a=1 b=2", "A=1"]) {
    expect([text, dictionaryOf(text)]).toEqual([text, null]);
  }
});

it("a digest is the SHA-256 alone", () => {
  const of = (value: string): number | undefined =>
    digestIn(new HeaderSnapshot([["content-digest", value]]))?.byteLength;
  const sha256 = `sha-256=:${btoa("x".repeat(32))}:`;
  expect(of(sha256)).toBe(32);
  expect(of(`${DIGEST}, ${sha256}`)).toBe(32);
  for (const text of [
    DIGEST,
    `sha-256=:${btoa("x".repeat(31))}:`,
    `${sha256}, ${sha256}`,
    "sha-256",
    "",
    "sha-256=x",
  ]) {
    expect([text, of(text)]).toEqual([text, undefined]);
  }
});

it("what a signature has to cover is what the request has", () => {
  const base = ["@method", "@authority", "@path"];
  const of = (headers: readonly [string, string][], search = "", keyHeaders: readonly string[] = []): string[] => [
    ...neededComponents(messageWith({}, { search, keyHeaders, headers: new HeaderSnapshot(headers) })),
  ];
  expect(of([])).toEqual(base);
  expect(of([["Content-Length", "0"]], "?a")).toEqual([...base, "@query"]);
  expect(of([["Content-Length", "1"]])).toEqual([...base, "content-digest", "content-type"]);
  expect(of([["Transfer-Encoding", "chunked"]])).toEqual([...base, "content-digest", "content-type"]);
  expect(of([["Content-Digest", ""]])).toEqual([...base, "content-digest"]);
  expect(
    of([
      ["Idempotency-Key", "k"],
      ["UCP-Agent", "a"],
      ["Signature-Agent", "b"],
    ]),
  ).toEqual([...base, "idempotency-key", "ucp-agent", "signature-agent"]);
  expect(of([["X-Key", "k"]], "", ["x-key"])).toEqual([...base, "x-key"]);
});
