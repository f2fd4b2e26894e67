// A certificate and a key that do not belong together are kept, but told of, as a Go server would say on loading them.

import { createPrivateKey, X509Certificate } from "node:crypto";

/** Both in base64, as secrets hold them. */
export function warnOfPair(certificate = "", key = ""): string[] {
  const text = (encoded: string) => Buffer.from(encoded, "base64").toString("utf8");
  const [certificatePem, keyPem] = [text(certificate), text(key)];
  if (!certificatePem.includes("-----BEGIN ")) return ["tls: failed to find any PEM data in certificate input"];
  if (!certificatePem.includes("-----BEGIN CERTIFICATE-----"))
    return [
      'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: []',
    ];
  if (!keyPem.includes("-----BEGIN ")) return ["tls: failed to find any PEM data in key input"];
  try {
    const parsed = new X509Certificate(certificatePem);
    return parsed.checkPrivateKey(createPrivateKey(keyPem)) ? [] : ["tls: private key does not match public key"];
  } catch {
    // What is wrong with it is no more than a hint; that it is unreadable is what matters.
    return ["tls: failed to parse private key"];
  }
}
