// Executes some of its lines: by exceptions, destructors and instances of templates. Its arguments choose cases.

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace {
int alive = 0;

struct Guard {
    explicit Guard(bool loud) : loud(loud) {
        alive++;
    }
    ~Guard() {
        if (loud)
            std::puts("loud");
        alive--;
    }
    bool loud;
};

template <typename T>
T larger(T left, T right) {
    if (left < right)
        return right;
    return left;
}

int thrower(int value) {
    Guard guard(value == 4);
    if (value == 1)
        throw std::runtime_error("one");
    if (value == 2)
        throw 2;
    return value;
}

int caller(int value) {
    try {
        return thrower(value);
    } catch (const std::exception &error) {
        return error.what()[0];
    } catch (int number) {
        return number;
    }
}

struct Base {
    virtual ~Base() = default;
    virtual int size() const {
        return 1;
    }
};

struct Derived : Base {
    int size() const override {
        return 2;
    }
};
}

int main(int argc, char **argv) {
    std::vector<int> results;
    for (int i = 1; i < argc; i++) {
        int value = std::atoi(argv[i]);
        results.push_back(caller(value));
        Derived derived;
        Base base;
        const Base *one = value % 2 ? static_cast<const Base *>(&derived) : &base;
        results.push_back(one->size());
    }
    auto grow = [](int by) {
        return by + 1;
    };
    if (results.size() > 6)
        results.push_back(grow(3));
    for (int result : results)
        std::printf("%d ", larger(result, 1));
    std::printf("%s %d\n", larger(std::string("a"), std::string("b")).c_str(), alive);
    return 0;
}
