package org.apache.kafka.tools.api;

import java.nio.charset.StandardCharsets;

/** The dump tool's default for keys and values. */
public class StringDecoder implements Decoder<String> {
    @Override
    public String fromBytes(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
