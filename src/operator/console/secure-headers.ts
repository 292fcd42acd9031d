// What a page of the console may do in a browser: load its own style sheet and script, send forms to itself, and nothing else.

import { secureHeaders } from "hono/secure-headers";

export const consoleHeaders = secureHeaders({
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    baseUri: ["'none'"],
    connectSrc: ["'self'"],
    formAction: ["'self'"],
    frameAncestors: ["'none'"],
    imgSrc: ["data:"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'"],
  },
  crossOriginOpenerPolicy: "same-origin",
  crossOriginResourcePolicy: "same-origin",
  // Addresses of the console name keys. A browser sends "Origin: null" with its forms then, and Sec-Fetch-Site tells.
  referrerPolicy: "no-referrer",
  // The host is the API's, and whether it is to be reached over https alone is not the console's to say.
  strictTransportSecurity: false,
  xFrameOptions: "DENY",
});
