import java.util.function.Supplier;
import org.apache.kafka.common.utils.Time;

/** A clock that stands still, for judges that are told the time with each question. */
class FixedTime implements Time {
    private final long now;

    FixedTime(long now) {
        this.now = now;
    }

    public long milliseconds() {
        return now;
    }

    public long nanoseconds() {
        return 0;
    }

    public void sleep(long ms) {}

    public void waitObject(Object object, Supplier<Boolean> condition, long deadline) {}
}
