// Prints its variables at the marked lines, as ntrace prints them.
#include <cstdio>
#include <string>
#include <vector>

struct Counter {
    int start;
    int method(int step)
    {
        int next = start + step;
        std::string text = "abc";
        std::vector<int> list{1, 2, next};
        int &alias = next;
        printf("step=%d, next=%d, text=\"%s\", list=[%d, %d, %d], alias=%d\n", step, next, text.c_str(), list[0], list[1], list[2], alias); /* all */
        return next;
    }
};

int main()
{
    Counter counter{4};
    return counter.method(3) != 7;
}
