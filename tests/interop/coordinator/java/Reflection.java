import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.Map;

/** Calls what has another signature, package or visibility in each release. */
final class Reflection {
    private Reflection() {
    }

    /** The first of these classes that the release has. */
    static Class<?> type(String... names) throws ClassNotFoundException {
        for (String name : names) {
            try {
                return Class.forName(name);
            } catch (ClassNotFoundException missing) {
                // The next name is that of another release.
            }
        }
        throw new ClassNotFoundException(Arrays.toString(names));
    }

    static boolean has(Object target, String name) {
        return find(target.getClass(), name) != null;
    }

    /** Calls the method of this name that takes these arguments. */
    static Object call(Object target, String name, Object... arguments) throws Exception {
        boolean isStatic = target instanceof Class<?>;
        Class<?> type = isStatic ? (Class<?>) target : target.getClass();
        for (Class<?> declaring = type; declaring != null; declaring = declaring.getSuperclass()) {
            for (Method method : declaring.getDeclaredMethods()) {
                if (method.getName().equals(name) && !method.isBridge() && fits(method.getParameterTypes(), arguments)) {
                    method.setAccessible(true);
                    return method.invoke(isStatic ? null : target, arguments);
                }
            }
        }
        throw new NoSuchMethodException(type + "." + name + Arrays.toString(arguments));
    }

    /** Makes an object by the first constructor whose parameters are all among the given values, by type. */
    static Object make(Class<?> type, Object... values) throws Exception {
        for (Constructor<?> constructor : type.getDeclaredConstructors()) {
            Object[] arguments = Arrays.stream(constructor.getParameterTypes())
                .map(parameter -> Arrays.stream(values).filter(parameter::isInstance).findFirst().orElse(null))
                .toArray();
            if (Arrays.stream(arguments).noneMatch(argument -> argument == null)) {
                constructor.setAccessible(true);
                return constructor.newInstance(arguments);
            }
        }
        throw new NoSuchMethodException(type + " of " + Arrays.toString(values));
    }

    static Object field(Object target, String name) throws Exception {
        boolean isStatic = target instanceof Class<?>;
        for (Class<?> type = isStatic ? (Class<?>) target : target.getClass(); type != null; type = type.getSuperclass()) {
            try {
                Field field = type.getDeclaredField(name);
                field.setAccessible(true);
                return field.get(isStatic ? null : target);
            } catch (NoSuchFieldException missing) {
                // It may be a field of the class above.
            }
        }
        throw new NoSuchFieldException(name);
    }

    /** Sets a property of a builder; an interface that we have no object for is given one that does nothing. */
    static void with(Object builder, String name, Object... candidates) throws Exception {
        Method method = find(builder.getClass(), name);
        if (method == null) {
            return;
        }
        method.setAccessible(true);
        Class<?> parameter = method.getParameterTypes()[0];
        for (Object candidate : candidates) {
            if (parameter.isInstance(candidate)) {
                method.invoke(builder, candidate);
                return;
            }
        }
        method.invoke(builder, idle(parameter));
    }

    /** An object whose methods return nothing. */
    static Object idle(Class<?> type) {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) ->
            method.getReturnType() == boolean.class ? (Object) false : method.getReturnType() == int.class ? 0 : null);
    }

    private static Method find(Class<?> type, String name) {
        for (Class<?> declaring = type; declaring != null; declaring = declaring.getSuperclass()) {
            for (Method method : declaring.getDeclaredMethods()) {
                if (method.getName().equals(name) && !method.isBridge()) {
                    return method;
                }
            }
        }
        return null;
    }

    private static boolean fits(Class<?>[] parameters, Object[] arguments) {
        if (parameters.length != arguments.length) {
            return false;
        }
        for (int i = 0; i < parameters.length; i++) {
            Class<?> parameter = BOXES.getOrDefault(parameters[i], parameters[i]);
            if (arguments[i] != null && !parameter.isInstance(arguments[i])) {
                return false;
            }
        }
        return true;
    }

    private static final Map<Class<?>, Class<?>> BOXES = Map.of(
        int.class, Integer.class, short.class, Short.class, long.class, Long.class, boolean.class, Boolean.class);
}
