package org.apache.kafka.tools.api;

/** What Kafka's dump tool asks of a decoder. The artifact that has the real one is not there for every release. */
public interface Decoder<T> {
    T fromBytes(byte[] bytes);
}
