package org.apache.spark.kafka010;

/** Where a cluster's delegation tokens come from; there is none. */
public final class KafkaTokenClusterConf {
    private KafkaTokenClusterConf() {
    }
}
