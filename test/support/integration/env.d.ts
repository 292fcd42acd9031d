// What the tests inside workerd have beyond the Worker's own bindings.
declare namespace Cloudflare {
  interface Env {
    BODIES: R2Bucket;
    LINE: Queue;
    HOOK_SECRET: string;
  }
}
